// fractional_max_pool: windows that each image places for itself.
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
    int64_t wanted[kImageDims] = {1, 1, 1};
    read_list(operation, 0, params.rank, 1, "kernel_size", params.kernel);
    read_list(operation, 1, params.rank, 0, "output_size", wanted);
    for (int d = 0; d < kImageDims; ++d) {
        if (params.to.size[d] != wanted[d])
            refuse_size(operation, d - (kImageDims - params.rank), params.to.size[d], wanted[d]);
        if (params.from.size[d] > kMostWindow ||
            wanted[d] - 1 > params.from.size[d] - params.kernel[d])
            throw Refusal{INFINI_STATUS_BAD_PARAM,
                          "fractional_max_pool: an image too small (or far too large) for so many "
                          "windows of this size"};
    }
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
