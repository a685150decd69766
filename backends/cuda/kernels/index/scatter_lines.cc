#include "kernels/index/scatter_lines.h"

#include <cmath>

#include "device/index/scatter_lines.cuh"
#include "index_case.h"
#include "kernels/copy/strided.h"

namespace infini::cuda {
namespace {

constexpr int64_t kThreads = 256;          // at most, as in scatter_lines.cuh
constexpr int64_t kRowsPerUpdate = 8;      // if lines are longer, sorting the updates is faster
constexpr int64_t kBlockBytes = 48 << 10;  // so that several blocks are resident
constexpr int64_t kPartialBytes = 32 << 20;

// The accumulators' size.
int64_t sum_bytes(int dtype) {
    const auto bytes = int64_t(dtype_bytes(dtype));
    return is_float(dtype) ? std::max<int64_t>(bytes, 4) : bytes;
}

// The number of parts into which a line's updates are split, if there are fewer lines than warps
// that the device can run. More parts take less time to fold, but more to combine.
int64_t parts_of(int64_t lines, int64_t entries, int64_t rows, int64_t bytes, int64_t warps) {
    const auto balanced = int64_t(std::sqrt(double(entries) / 12));
    const int64_t fitting = std::max(4 * entries / rows, kPartialBytes / (lines * rows * bytes));
    return std::clamp<int64_t>(std::min({balanced, fitting, warps / lines}), 1, 512);
}

}  // namespace

std::unique_ptr<Plan> plan_scatter_lines(const Operation &operation, const Reduction &reduction,
                                         bool orderless, Device &device) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const Tensor indices = operation.tensor(2), updates = operation.tensor(3);
    const int axis = scattered_dim(operation);
    const int64_t rows = output.size(axis), entries = indices.size(axis);
    const bool counted = reduction.mean || !reduction.include_self;
    const int64_t sum = sum_bytes(output.dtype);
    const int64_t warp_bytes =
        round_up(round_up(rows * sum, 4) + rows * (1 + (counted ? 4 : 0)), 16);
    if (rows == 0 || warp_bytes > int64_t(device.shared_bytes) || entries >= int64_t(1) << 31 ||
        entries * kRowsPerUpdate < rows)
        return nullptr;

    ScatterLinesParams params = {};
    Dims<4> lines;
    bool all = true;  // whether the indices reach every line of the output
    for (int d = 0; d < output.ndim; ++d) {
        if (d == axis) continue;
        all = all && indices.shape[d] == output.shape[d];
        lines.add(indices.shape[d], output.strides[d], input.strides[d], indices.strides[d],
                  updates.strides[d]);
    }
    params.lines = lines.places();
    const int64_t count = lines.count;
    if (count == 0 || count >= int64_t(1) << 31) return nullptr;
    params.step[0] = output.stride(axis), params.step[1] = input.stride(axis);
    params.step[2] = indices.stride(axis), params.step[3] = updates.stride(axis);
    params.entries = entries, params.rows = uint32_t(rows);
    params.warp_bytes = int32_t(warp_bytes);

    const int64_t resident = std::clamp<int64_t>(int64_t(device.shared_bytes) / warp_bytes, 1, 16);
    const int64_t parts =
        parts_of(count, entries, rows, sum + 4, resident * device.multiprocessors);
    params.part = round_up(divide_up(entries, parts), device.warp);
    params.parts = uint32_t(divide_up(entries, params.part));
    const int64_t tasks = count * params.parts;
    // Atomic operations are faster than few warps.
    if (orderless && tasks < 2 * device.multiprocessors) return nullptr;
    if (params.parts > 1 && count * rows >= int64_t(1) << 31) return nullptr;
    if (params.parts > 1) params.row_divider = Divider(uint32_t(rows));

    Source folding("index/scatter_lines.cuh:fold");
    describe(folding.type("I", indices.dtype), output.dtype, reduction);
    const auto fold = device.compile(folding);
    std::shared_ptr<const Kernel> combine;
    if (params.parts > 1) {
        Source combining("index/scatter_lines.cuh:combine");
        describe(combining, output.dtype, reduction);
        combine = device.compile(combining);
    }
    StridedCopy copy;  // of the lines without updates
    if (!all)
        copy = StridedCopy(device, dtype_bytes(output.dtype), output.ndim, output.shape,
                           output.strides, input.strides);
    const int64_t warps = std::clamp<int64_t>(kBlockBytes / warp_bytes, 1, kThreads / device.warp);
    const int64_t sums = params.parts > 1 ? round_up(tasks * rows * sum, 256) : 0;
    const int64_t counts = params.parts > 1 && counted ? tasks * rows * 4 : 0;
    auto run = [=](const Arguments &a, const Stream &stream) {
        ScatterLinesParams here = params;
        here.out = a.pointer<void>(0), here.in = a.pointer<void>(1);
        here.index = a.pointer<void>(2), here.updates = a.pointer<void>(3);
        here.partial = a.workspace();
        here.partial_counts = reinterpret_cast<uint32_t *>(a.workspace() + sums);
        if (!all && here.out != here.in) INFINI_CUDA_TRY(copy.run(stream, here.out, here.in));
        INFINI_CUDA_TRY(fold->launch(stream, divide_up(tasks, warps),
                                     unsigned(warps * stream.device.warp), here,
                                     size_t(warps * warp_bytes)));
        if (!combine) return infinirtSuccess;
        return combine->launch(stream, divide_up(count * rows, 256), 256, here);
    };
    return make_plan(run, size_t(sums + counts));
}

}  // namespace infini::cuda
