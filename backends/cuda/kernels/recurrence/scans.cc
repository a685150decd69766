// mamba_selective_scan and rwkv5_wkv.
#include "device/recurrence/recurrence_params.h"
#include "kernel.h"

namespace infini::cuda {
namespace {

constexpr int kScanLanes = 4;  // lanes that share a channel's states, or a column of a state

std::unique_ptr<Plan> plan_mamba(const Operation &op, Device &device) {
    constexpr int kThreads = 128, kChannels = kThreads / kScanLanes;
    const Shape x = op.tensor(1);
    MambaParams fixed{};
    fixed.batch = int32_t(x.size[0]), fixed.tokens = int32_t(x.size[1]);
    fixed.channels = int32_t(x.size[2]), fixed.states = int32_t(op.tensor(5).size(1));
    fixed.blocks = (fixed.channels + kChannels - 1) / kChannels;
    if (int64_t(fixed.batch) * fixed.blocks == 0) return make_empty_plan();
    Source source("recurrence/mamba.cuh");
    source.type("T", x.dtype)
        .constant("kPer", std::max(1, (fixed.states + kScanLanes - 1) / kScanLanes));
    auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        MambaParams p = fixed;
        p.out = a.pointer<void>(0), p.x = a.pointer<void>(1), p.dt = a.pointer<void>(2);
        p.b = a.pointer<void>(3), p.c = a.pointer<void>(4), p.a_log = a.pointer<void>(5);
        p.d = a.pointer<void>(6), p.gate = a.pointer<void>(7), p.dt_bias = a.pointer<void>(8);
        p.state = a.pointer<float>(9);
        return kernel->launch(stream, int64_t(p.batch) * p.blocks, kThreads, p);
    });
}
INFINI_CUDA_KERNEL("mamba_selective_scan", plan_mamba);

std::unique_ptr<Plan> plan_rwkv(const Operation &op, Device &device) {
    constexpr int kThreads = 256, kColumns = kThreads / kScanLanes;
    const Shape decay = op.tensor(4), out = op.tensor(0);
    RwkvParams fixed{};
    fixed.tokens = int32_t(out.size[1]), fixed.heads = int32_t(decay.size[0]);
    fixed.size = int32_t(decay.size[1]), fixed.parts = (fixed.size + kColumns - 1) / kColumns;
    const int64_t blocks = out.size[0] * fixed.heads * fixed.parts;
    if (blocks == 0) return make_empty_plan();
    Source source("recurrence/rwkv.cuh");
    source.type("T", out.dtype).constant("kPer", (fixed.size + kScanLanes - 1) / kScanLanes);
    auto kernel = device.compile(source);
    return make_plan([=](const Arguments &a, const Stream &stream) {
        RwkvParams p = fixed;
        p.out = a.pointer<void>(0), p.r = a.pointer<void>(1), p.k = a.pointer<void>(2);
        p.v = a.pointer<void>(3), p.decay = a.pointer<void>(4), p.bonus = a.pointer<void>(5);
        p.state = a.pointer<float>(6);
        return kernel->launch(stream, blocks, kThreads, p);
    });
}
INFINI_CUDA_KERNEL("rwkv5_wkv", plan_rwkv);

}  // namespace
}  // namespace infini::cuda
