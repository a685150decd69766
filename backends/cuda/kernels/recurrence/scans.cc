// mamba_selective_scan, rwkv5_wkv and ctc_loss.
#include <algorithm>

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

std::unique_ptr<Plan> plan_ctc(const Operation &op, Device &device) {
    const Tensor loss = op.tensor(0), log_probs = op.tensor(1), targets = op.tensor(2);
    CtcParams fixed{};
    for (int d = 0; d < 3; ++d) fixed.log_probs_stride[d] = log_probs.stride(d);
    fixed.target_stride[0] = targets.stride(0), fixed.target_stride[1] = targets.stride(1);
    fixed.length_stride[0] = op.tensor(3).stride(0);
    fixed.length_stride[1] = op.tensor(4).stride(0);
    fixed.loss_stride = loss.stride(0), fixed.blank = op.integer(0);
    fixed.steps = log_probs.size(0), fixed.classes = log_probs.size(2);
    fixed.targets_size = targets.size(1);
    const int64_t count = loss.size(0), labels = 2 * fixed.targets_size + 1;
    if (count == 0) return make_empty_plan();
    const int64_t most = 1024, threads = std::min(most, (labels + 31) / 32 * 32);
    // A warp may be wider than 32 lanes.
    const int64_t rounded = std::min(most, (threads + device.warp - 1) / device.warp * device.warp);
    const size_t bytes = size_t(2 * (labels + 2)) * dtype_bytes(loss.dtype);
    const bool is_shared = bytes + 1024 <= device.shared_bytes;
    Source source("recurrence/ctc.cuh");
    source.type("T", loss.dtype).constant("kThreads", rounded).constant("kShared", is_shared);
    auto kernel = device.compile(source.constant("kSingle", labels <= rounded));
    auto run = [=](const Arguments &a, const Stream &stream) {
        CtcParams p = fixed;
        p.loss = a.pointer<void>(0), p.log_probs = a.pointer<void>(1);
        p.targets = a.pointer<int64_t>(2), p.input_lengths = a.pointer<int64_t>(3);
        p.target_lengths = a.pointer<int64_t>(4), p.rooms = a.workspace();
        return kernel->launch(stream, count, unsigned(rounded), p, is_shared ? bytes : 0);
    };
    return make_plan(run, is_shared ? 0 : size_t(count) * bytes);
}
INFINI_CUDA_KERNEL("ctc_loss", plan_ctc);

}  // namespace
}  // namespace infini::cuda
