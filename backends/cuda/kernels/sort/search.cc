// searchsorted: the positions at which values would be inserted into ascending sequences.
#include "device/sort/count.cuh"
#include "kernels/lines.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_searchsorted(const Operation &operation, Device &device) {
    const Tensor output = operation.tensor(0), sequence = operation.tensor(1);
    const Tensor values = operation.tensor(2);
    SearchParams params = {};
    params.shared = sequence.ndim == 1;
    params.size = sequence.size(-1), params.step = sequence.stride(-1);
    params.count = values.numel(), params.row = values.ndim ? values.size(-1) : 1;
    params.to = offsets_of(output), params.from = offsets_of(values);
    if (!params.shared) params.begins = offsets_of(sequence, 0, sequence.ndim - 1);
    if (params.count == 0) return make_empty_plan();
    Source source("sort/count.cuh:search");
    source.type("T", values.dtype).constant("kRight", operation.integer(0) != 0);
    auto kernel = device.compile(source);
    const int64_t blocks = device.blocks_for(params.count, 256, 64);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        SearchParams p = params;
        p.y = a.pointer<int64_t>(0), p.sequences = a.pointer<void>(1), p.x = a.pointer<void>(2);
        return kernel->launch(stream, blocks, 256, p);
    });
}

INFINI_CUDA_KERNEL("searchsorted", plan_searchsorted);

}  // namespace
}  // namespace infini::cuda
