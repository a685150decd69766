// fractional_max_pool: pseudo-random windows, chosen separately for each image.
#include "kernels/window/windows.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_fractional(const Operation &operation, Device &device) {
    FractionalParams params = {};
    params.rank = int32_t(operation.integer(2));
    params.to = image_of(operation.tensor(0)), params.places = image_of(operation.tensor(1));
    params.from = image_of(operation.tensor(2));
    const Tensor samples = operation.tensor(3);
    for (int i = 0; i < 3; ++i) params.sample_stride[i] = samples.stride(i);
    check_fractional(operation, params.rank, params.from.size, params.to.size, params.kernel);
    const int64_t outputs = operation.tensor(0).numel();
    if (outputs == 0) return make_empty_plan();
    Source source("window/fractional.cuh");
    source.type("T", operation.tensor(0).dtype).type("I", index_type(is_small(params.to)));
    auto kernel = device.compile(source);
    const int64_t blocks = device.blocks_for(outputs, 256, 64);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        FractionalParams p = params;
        p.y = a.pointer<void>(0), p.found = a.pointer<int64_t>(1);
        p.x = a.pointer<void>(2), p.samples = a.pointer<void>(3);
        return kernel->launch(stream, blocks, 256, p);
    });
}

INFINI_CUDA_KERNEL("fractional_max_pool", plan_fractional);

}  // namespace
}  // namespace infini::cuda
