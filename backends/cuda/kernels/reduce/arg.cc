// argmax and argmin. A warp or a block processes a row; if neighbouring rows are adjacent in
// memory, a lane processes some of them. Few rows are split into chunks, whose results are combined
// by a second kernel.
#include "device/reduce/arg.cuh"

#include <algorithm>

#include "kernels/lines.h"

namespace infini::cuda {
namespace {

constexpr int64_t kArgThreads = 256, kMostPiece = int64_t(1) << 30;

struct Arg {
    ArgParams params = {};
    bool across = false;
    int64_t vector = 1;  // elements in 16 bytes
    int64_t row_threads = kArgThreads;
    bool vectors = false;  // rows could be read in vectors
    int64_t blocks = 0;
    int64_t block_threads = kArgThreads, at_once = 1;

    void cut(const Device &device) {
        ArgParams &p = params;
        const int64_t tiles = across ? divide_up(p.columns, device.warp * vector) : 1;
        const int64_t work = across ? p.rows / std::max<int64_t>(p.columns, 1) * tiles : p.rows;
        // A chunk keeps a block busy: 32 vectors per thread, or lines per warp.
        const int64_t least = across ? 64 * kArgThreads / device.warp : 32 * kArgThreads * vector;
        const int64_t wanted = device.multiprocessors * 8;
        int64_t pieces = 1;
        if (work < wanted && p.total > least)
            pieces = std::min(divide_up(wanted, std::max<int64_t>(work, 1)), p.total / least + 1);
        pieces = std::max(pieces, divide_up(p.total, kMostPiece));
        p.piece = round_up(divide_up(p.total, pieces), vector);
        p.pieces = int32_t(divide_up(p.total, p.piece));
        if (!across && p.pieces == 1 && p.total <= 8 * device.warp * vector)
            row_threads = device.warp;
        else if (!across && p.total <= 64 * 128 * vector)
            row_threads = block_threads = 128;
        // Number of vectors in flight per thread.
        at_once = 8;
        while (at_once > 1 && at_once * row_threads * vector > p.piece) at_once /= 2;
        const int64_t tasks = work * p.pieces;
        blocks = across ? tasks : divide_up(tasks * row_threads, block_threads);
    }
};

Arg describe(const Operation &operation) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    bool folded[Shape::kMost] = {};
    const int64_t *dims = operation.list(0);
    for (size_t i = 0; dims && i < operation.count(0); ++i) folded[dims[i]] = true;
    if (!dims) folded[operation.integer(0)] = true;  // no list means dimension 0
    Arg arg;
    ArgParams &p = arg.params;
    arg.vector = 16 / int64_t(dtype_bytes(input.dtype));
    int last = -1, kept = 0;
    for (int i = 0; i < input.ndim; ++i) {
        if (folded[i]) {
            p.folded.add(input.shape[i], input.strides[i]);
            continue;
        }
        p.to.add(input.shape[i], output.strides[output.ndim == input.ndim ? i : kept]);
        last = i, ++kept;
    }
    p.rows = p.to.count, p.total = p.folded.count;
    arg.across = last >= 0 && input.stride(last) == 1 && input.size(last) >= 16 &&
                 p.folded.even() && p.folded.step() != 1;
    if (arg.across) p.columns = input.size(last);
    for (int i = 0; i < input.ndim; ++i)
        if (!folded[i] && !(arg.across && i == last)) p.from.add(input.shape[i], input.strides[i]);
    // Every row, or every line of neighbouring rows, begins at a whole vector.
    arg.vectors = arg.across ? p.columns % arg.vector == 0 && p.folded.step() % arg.vector == 0
                             : p.folded.even() && (p.folded.step() == 1 || p.total == 1);
    for (int i = 0; i < p.from.ndim; ++i) arg.vectors &= p.from.stride[i] % arg.vector == 0;
    return arg;
}

std::unique_ptr<Plan> plan_arg(const Operation &operation, Device &device) {
    const bool least = operation.is("argmin");
    Arg arg = describe(operation);
    if (arg.params.rows == 0) return make_empty_plan();
    arg.cut(device);
    const int dtype = operation.tensor(1).dtype;
    auto compile = [&](Source source) {
        return device.compile(source.type("T", dtype).constant("kLeast", least));
    };
    std::shared_ptr<const Kernel> kernel, join;
    if (arg.across) {
        kernel = compile(Source("reduce/arg.cuh:across"));
    } else {
        Source source("reduce/arg.cuh:along");
        source.constant("kRowThreads", arg.row_threads);
        source.constant("kBlockThreads", arg.block_threads).constant("kAtOnce", arg.at_once);
        kernel = compile(source.constant("kGeneral", !arg.params.folded.even()));
    }
    const bool cut = arg.params.pieces > 1;
    if (cut) join = compile(Source("reduce/arg.cuh:join"));
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        ArgParams p = arg.params;
        p.x = a.pointer<void>(1), p.y = a.pointer<int64_t>(0), p.parts = a.workspace();
        p.vector = arg.vectors && is_aligned(p.x, 16);
        INFINI_CUDA_TRY(kernel->launch(stream, arg.blocks, unsigned(arg.block_threads), p));
        if (!cut) return infinirtSuccess;
        return join->launch(stream, divide_up(p.rows, kArgThreads), kArgThreads, p);
    };
    const int64_t parts = cut ? arg.params.rows * arg.params.pieces : 0;
    return make_plan(run, size_t(parts) * 16);
}

INFINI_CUDA_KERNEL("argmax", plan_arg);

}  // namespace
}  // namespace infini::cuda
