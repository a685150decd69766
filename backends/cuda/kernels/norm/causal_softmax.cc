// causal_softmax: a separate kernel, so that masked columns are never read.
#include "device/norm/causal_softmax.cuh"

#include "kernels/dims.h"

namespace infini::cuda {
namespace {

constexpr int64_t kSoftmaxThreads = 256, kRounds = 4;  // as in causal_softmax.cuh

std::unique_ptr<Plan> plan_causal_softmax(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    if (y.numel() == 0) return make_empty_plan();
    const int outer = y.ndim - 1;
    const int64_t element = int64_t(dtype_bytes(y.dtype));
    CausalParams params = {};
    params.lines = y.size(-2), params.columns = y.size(-1);
    params.y_step = y.stride(-1), params.x_step = x.stride(-1);
    Dims<2> rows;
    int64_t bits = params.columns;
    for (int d = 0; d < outer; ++d) {
        rows.add(y.shape[d], y.strides[d], x.strides[d]);
        if (y.shape[d] != 1) bits |= y.strides[d] | x.strides[d];
    }
    params.rows = rows.places();
    const bool dense = params.y_step == 1 && params.x_step == 1;
    const int64_t word = dense ? common_word({bits * element}) : element, n = word / element;
    const int64_t row_threads =
        params.columns <= device.warp * kRounds * n ? device.warp : kSoftmaxThreads;
    const bool held = params.columns <= row_threads * kRounds * n;
    Source source("norm/causal_softmax.cuh");
    source.type("T", y.dtype).constant("kVector", n).constant("kRowThreads", row_threads);
    const auto kernel = device.compile(source.constant("kHeld", held));
    const int64_t blocks = divide_up(params.rows.count, kSoftmaxThreads / row_threads);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        CausalParams here = params;
        here.y = a.pointer<void>(0), here.x = a.pointer<void>(1);
        here.whole = is_aligned(here.y, size_t(word)) && is_aligned(here.x, size_t(word));
        return kernel->launch(stream, blocks, unsigned(kSoftmaxThreads), here);
    });
}

INFINI_CUDA_KERNEL("causal_softmax", plan_causal_softmax);

}  // namespace
}  // namespace infini::cuda
