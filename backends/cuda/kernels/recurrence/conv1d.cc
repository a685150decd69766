// causal_conv1d.
#include "requests.h"

namespace infini::cuda {
namespace {

constexpr int kConv1dThreads = 128, kRun = 64;

std::unique_ptr<Plan> plan_causal_conv1d(const Operation &op, Device &device) {
    const Shape out = op.tensor(0), state = op.tensor(1), final_state = op.tensor(2);
    const Shape x = op.tensor(3), weight = op.tensor(4), bias = op.tensor(5);
    const Requests requests(op, 6, 7, op.tensor(0), op.tensor(1), op.tensor(2));
    const int64_t wide = int64_t(16 / dtype_bytes(out.dtype)), channels = out.size[2];
    ConvParams fixed{};
    bool vector = channels % wide == 0;
    for (int i = 0; i < 2; ++i) {
        fixed.out_stride[i] = out.stride[i], fixed.x_stride[i] = x.stride[i];
        vector = vector && out.stride[i] % wide == 0 && x.stride[i] % wide == 0;
    }
    fixed.weight_stride[0] = weight.stride[0], fixed.weight_stride[1] = weight.stride[2];
    if (bias) fixed.bias_stride = bias.stride[0];
    for (int i = 0; i < 3; ++i) {
        fixed.state_stride[i] = state.stride[i];
        fixed.final_stride[i] = requests.pooled() ? state.stride[i] : final_state.stride[i];
    }
    fixed.channels = int32_t(channels);
    // A request may have any number of tokens up to the total; empty runs cost little.
    fixed.runs = int32_t(std::max<int64_t>(1, (requests.tokens + kRun - 1) / kRun));
    if (channels == 0 || requests.groups() == 0) return make_empty_plan();

    Source source("recurrence/conv1d.cuh");
    source.type("T", out.dtype);
    requests.describe(source);
    auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        ConvParams p = fixed;
        p.requests = requests.params(a);
        p.out = a.pointer<void>(0), p.state = a.pointer<void>(1);
        p.final_state = a.pointer<void>(requests.pooled() ? 1 : 2);
        p.x = a.pointer<void>(3), p.weight = a.pointer<void>(4);
        p.bias = bias ? a.pointer<void>(5) : nullptr;
        p.vector = vector && lies_wide(p.out) && lies_wide(p.x);
        const int64_t per_block = kConv1dThreads * (p.vector ? wide : 1);
        p.blocks = int32_t((channels + per_block - 1) / per_block);
        return kernel->launch(stream, requests.groups() * p.runs * p.blocks, kConv1dThreads, p);
    });
}
INFINI_CUDA_KERNEL("causal_conv1d", plan_causal_conv1d);

}  // namespace
}  // namespace infini::cuda
