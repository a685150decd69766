// The sum of the rows of a token's experts: moe_sum.
#include <algorithm>

#include "device/moe/align.cuh"
#include "kernels/dims.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_moe_sum(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    if (y.numel() == 0) return make_empty_plan();
    const int64_t element = int64_t(dtype_bytes(y.dtype)), depth = y.size(1);
    const bool dense = (y.stride(1) == 1 && x.stride(2) == 1) || depth == 1;
    const int64_t bits = depth | y.stride(0) | x.stride(0) | x.stride(1);
    const int64_t word = dense ? common_word({bits * element}) : element, n = word / element;
    MoeSumParams params = {};
    params.tokens = y.size(0), params.choices = x.size(1), params.vectors = depth / n;
    params.y_token = y.stride(0), params.y_step = y.stride(1) * n;
    params.x_token = x.stride(0), params.x_choice = x.stride(1), params.x_step = x.stride(2) * n;
    Source source("moe/align.cuh:sum");
    const auto kernel = device.compile(source.type("T", y.dtype).constant("kVector", n));
    const Grid grid(divide_up(params.vectors, 256), std::min<int64_t>(params.tokens, 65535));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        MoeSumParams here = params;
        here.y = a.pointer<void>(0), here.x = a.pointer<void>(1);
        here.whole = is_aligned(here.y, size_t(word)) && is_aligned(here.x, size_t(word));
        return kernel->launch(stream, grid, 256, here);
    });
}

INFINI_CUDA_KERNEL("moe_sum", plan_moe_sum);

}  // namespace
}  // namespace infini::cuda
