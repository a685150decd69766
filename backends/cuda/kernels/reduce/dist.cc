// dist and cdist: p-norms of the difference of two tensors, and of differences between all pairs of
// rows.
#include "device/reduce/dist.cuh"

#include <cmath>

#include "kernels/lines.h"

namespace infini::cuda {
namespace {

constexpr int64_t kDistThreads = 256, kDistTile = 64;

int norm_of(double p) {
    if (p == 0 || p == 1 || p == 2) return int(p);
    return std::isinf(p) ? 3 : 4;
}

std::unique_ptr<Plan> plan_dist(const Operation &operation, Device &device) {
    const Tensor x1 = operation.tensor(1), x2 = operation.tensor(2);
    DistParams params = {};
    params.first = offsets_of(x1), params.second = offsets_of(x2);
    params.count = x1.numel(), params.p = operation.number(0);
    params.blocks = int32_t(device.blocks_for(params.count, kDistThreads * 8, 4));
    auto compile = [&](bool join) {
        Source source("reduce/dist.cuh:dist");
        source.type("T", x1.dtype).constant("kNorm", norm_of(params.p));
        return device.compile(source.constant("kJoin", join));
    };
    auto sums = compile(false), join = compile(true);
    auto run = [=](const Arguments &a, const Stream &stream) -> Error {
        DistParams p = params;
        p.y = a.pointer<void>(0), p.x1 = a.pointer<void>(1), p.x2 = a.pointer<void>(2);
        p.parts = reinterpret_cast<double *>(a.workspace());
        INFINI_CUDA_TRY(sums->launch(stream, p.blocks, kDistThreads, p));
        return join->launch(stream, 1, kDistThreads, p);
    };
    return make_plan(run, size_t(params.blocks) * sizeof(double) + 8);
}

// The batches of an operand, broadcast to those of the result.
Offsets batches_of(const Tensor &tensor, const Tensor &result) {
    Offsets offsets;
    for (int d = 0; d < result.ndim - 2; ++d) {
        const int own = d - (result.ndim - tensor.ndim);
        const bool there = own >= 0 && tensor.shape[own] != 1;
        offsets.add(result.shape[d], there ? tensor.strides[own] : 0);
    }
    return offsets;
}

std::unique_ptr<Plan> plan_cdist(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x1 = operation.tensor(1), x2 = operation.tensor(2);
    CdistParams params = {};
    params.to = offsets_of(y, 0, y.ndim - 2);
    params.first = batches_of(x1, y), params.second = batches_of(x2, y);
    params.rows = x1.size(-2), params.columns = x2.size(-2), params.width = x1.size(-1);
    params.first_row = x1.stride(-2), params.first_step = x1.stride(-1);
    params.second_row = x2.stride(-2), params.second_step = x2.stride(-1);
    params.to_row = y.stride(-2), params.to_step = y.stride(-1);
    params.p = float(operation.number(0));
    if (y.numel() == 0) return make_empty_plan();
    Source source("reduce/dist.cuh:cdist");
    source.type("T", y.dtype).constant("kNorm", norm_of(operation.number(0)));
    auto kernel = device.compile(source);
    const int64_t blocks =
        params.to.count * divide_up(params.rows, kDistTile) * divide_up(params.columns, kDistTile);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        CdistParams p = params;
        p.y = a.pointer<void>(0), p.x1 = a.pointer<void>(1), p.x2 = a.pointer<void>(2);
        return kernel->launch(stream, blocks, kDistThreads, p);
    });
}

INFINI_CUDA_KERNEL("dist", plan_dist);
INFINI_CUDA_KERNEL("cdist", plan_cdist);

}  // namespace
}  // namespace infini::cuda
