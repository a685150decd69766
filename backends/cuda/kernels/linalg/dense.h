// What the planners of linear algebra share.
#pragma once

#include <algorithm>
#include <vector>

#include "device/linalg/dense.cuh"
#include "kernels/lines.h"

namespace infini::cuda {

// A tensor as a batch of matrices (`trailing` is 2), of vectors (one row) or of numbers.
inline MatrixParams matrices_of(const Tensor &tensor, int trailing) {
    MatrixParams m;
    m.batch = offsets_of(tensor, 0, tensor.ndim - trailing);
    if (trailing > 0) m.columns = tensor.size(-1), m.column_step = tensor.stride(-1);
    if (trailing > 1) m.rows = tensor.size(-2), m.row_step = tensor.stride(-2);
    return m;
}
inline MatrixParams transposed(MatrixParams m) {
    std::swap(m.rows, m.columns);
    std::swap(m.row_step, m.column_step);
    return m;
}

// A block works on a matrix, in `doubles` of its own; there are as many as fit on the device at
// once. The members of `params` that take a tensor's data, by the number of its pointer. Work that
// would take long to compile is done in stages: a kernel for each, for as many matrices at a time as
// there are blocks.
struct Operand {
    MatrixParams LinalgParams::*member;
    int pointer;
};

template <size_t operands>
std::unique_ptr<Plan> plan_blocks(Device &device, Source source, LinalgParams params,
                                  const Operand (&list)[operands], int dtype, int64_t doubles,
                                  int stages = 1) {
    const int64_t largest = std::max(params.x.rows, params.x.columns);
    const int64_t threads = largest <= 32 ? 64 : largest <= 128 ? 256 : 512;
    params.count = params.x.batch.count;
    if (params.count == 0) return make_empty_plan();
    source.type("T", dtype).constant("kThreads", threads);
    std::vector<std::shared_ptr<const Kernel>> kernels;
    for (int i = 0; i < stages; ++i) {
        Source stage = source;
        kernels.push_back(device.compile(stage.constant("kStage", i)));
    }
    params.room = round_up(doubles, 32);
    int64_t blocks = params.count;
    for (const auto &kernel : kernels) {
        const int64_t resident = std::max(1, kernel->resident_blocks(unsigned(threads)));
        blocks = std::min(blocks, int64_t(device.multiprocessors) * resident);
    }
    // Stages are launched anew for other matrices: many small ones go together.
    constexpr int64_t kRooms = (64 << 20) / sizeof(double);
    if (stages > 1) blocks = std::min(params.count, std::max(blocks, kRooms / params.room));
    std::vector<Operand> given(list, list + operands);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        LinalgParams p = params;
        for (const Operand &operand : given)
            (p.*operand.member).data = a.pointer<void>(operand.pointer);
        p.rooms = reinterpret_cast<double *>(a.workspace());
        const int64_t end = kernels.size() > 1 ? p.count : 1;
        for (p.first = 0; p.first < end; p.first += blocks)
            for (const auto &kernel : kernels) {
                const int64_t here = std::min(blocks, p.count - p.first);
                INFINI_CUDA_TRY(kernel->launch(stream, here, unsigned(threads), p));
            }
        return infinirtSuccess;
    };
    return make_plan(run, size_t(blocks * params.room) * sizeof(double));
}

}  // namespace infini::cuda
