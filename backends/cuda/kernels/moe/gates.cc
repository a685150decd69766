// The gates of mixture-of-experts layers: topksoftmax, topkrouter, moe_topk_softmax,
// moe_topk_sigmoid and moe_fused_gate.
#include <algorithm>

#include "device/moe/gate.cuh"
#include "kernels/lines.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

constexpr int64_t kGateWarps = 4;  // rows per block

// A kernel for rows of logits, and the memory that it needs.
struct GatePlan {
    GateParams params = {};
    std::shared_ptr<const Kernel> kernel;
    int64_t blocks = 0;
    size_t shared = 0, room = 0;

    GatePlan(Gate gate, const Tensor &x, bool bias, Device &device) {
        params.rows = x.size(0), params.experts = int32_t(x.size(1));
        params.x_row = x.stride(0), params.x_step = x.stride(1);
        params.bias_step = params.value_step = params.index_step = 1;
        params.factor = 1;
        blocks = divide_up(params.rows, kGateWarps);
        const size_t bytes = size_t(params.experts) * 3 * sizeof(float) * size_t(kGateWarps);
        if (bytes <= 48 << 10) {
            shared = bytes;
        } else {
            blocks = std::min<int64_t>(blocks, int64_t(device.multiprocessors) * 4);
            room = bytes * size_t(blocks);
        }
        Source source("moe/gate.cuh");
        source.type("T", x.dtype).constant("kGate", gate).constant("kBias", bias);
        kernel = device.compile(source);
    }
    void results(const Tensor &weights, const Tensor &chosen) {
        params.value_row = weights.stride(0), params.value_step = weights.stride(1);
        params.index_row = chosen.stride(0), params.index_step = chosen.stride(1);
        params.slots = params.chosen = int32_t(weights.size(1));
    }
    Error launch(GateParams here, const Arguments &a, const Stream &stream) const {
        here.values = a.pointer<float>(0), here.indices = a.pointer<int32_t>(1);
        here.x = a.pointer<void>(2);
        here.room = room ? reinterpret_cast<float *>(a.workspace()) : nullptr;
        if (here.rows == 0 || here.slots == 0) return infinirtSuccess;
        return kernel->launch(stream, blocks, unsigned(kGateWarps * stream.device.warp), here,
                              shared);
    }
    // The number of results is an argument of the run.
    void count(GateParams &here, int64_t topk) const {
        here.slots = int32_t(std::max<int64_t>(topk, 0));
        here.chosen = std::min(here.slots, here.experts);
        here.value_row = here.index_row = here.slots;
    }
};

std::unique_ptr<Plan> plan_topksoftmax(const Operation &operation, Device &device) {
    const GatePlan plan(kTopkSoftmax, operation.tensor(0), false, device);
    auto run = [=](const Arguments &a, const Stream &stream) {
        GateParams here = plan.params;
        plan.count(here, a.integer(0));
        here.normalise = a.integer(1) != 0;
        return plan.launch(here, a, stream);
    };
    return make_plan(run, plan.room);
}

std::unique_ptr<Plan> plan_topkrouter(const Operation &operation, Device &device) {
    GatePlan plan(kTopkRouter, operation.tensor(0), true, device);
    plan.params.groups = 8, plan.params.keep = 4;
    auto run = [=](const Arguments &a, const Stream &stream) {
        GateParams here = plan.params;
        here.bias = a.pointer<float>(3);
        here.factor = float(a.number(0));
        plan.count(here, a.integer(1));
        return plan.launch(here, a, stream);
    };
    return make_plan(run, plan.room);
}

std::unique_ptr<Plan> plan_topk(const Operation &operation, Device &device, Gate gate) {
    const Tensor bias = operation.tensor(3);
    GatePlan plan(gate, operation.tensor(2), bool(bias), device);
    plan.results(operation.tensor(0), operation.tensor(1));
    plan.params.normalise = operation.integer(0) != 0;
    plan.params.cap = gate == kMoeSoftmax ? float(operation.number(1)) : 0.0f;
    plan.params.bias_step = bias ? bias.stride(0) : 0;
    const bool biased = bool(bias);
    auto run = [=](const Arguments &a, const Stream &stream) {
        GateParams here = plan.params;
        here.bias = biased ? a.pointer<float>(3) : nullptr;
        return plan.launch(here, a, stream);
    };
    return make_plan(run, plan.room);
}
std::unique_ptr<Plan> plan_topk_softmax(const Operation &operation, Device &device) {
    return plan_topk(operation, device, kMoeSoftmax);
}
std::unique_ptr<Plan> plan_topk_sigmoid(const Operation &operation, Device &device) {
    return plan_topk(operation, device, kMoeSigmoid);
}

std::unique_ptr<Plan> plan_moe_fused_gate(const Operation &operation, Device &device) {
    GatePlan plan(kFusedGate, operation.tensor(2), true, device);
    GateParams &params = plan.params;
    if (params.experts & (params.experts - 1))
        refuse_shape("the number of experts is no power of two");
    plan.results(operation.tensor(0), operation.tensor(1));
    params.bias_step = operation.tensor(3).stride(0);
    params.groups = int32_t(operation.integer(0)), params.keep = int32_t(operation.integer(1));
    params.shared = int32_t(operation.integer(2));
    params.chosen -= params.shared;
    params.factor = float(operation.number(3)), params.scaled = operation.integer(4) != 0;
    auto run = [=](const Arguments &a, const Stream &stream) {
        GateParams here = plan.params;
        here.bias = a.pointer<float>(3);
        return plan.launch(here, a, stream);
    };
    return make_plan(run, plan.room);
}

std::unique_ptr<Plan> plan_gate(const Operation &operation, Device &device) {
    if (operation.is("topksoftmax")) return plan_topksoftmax(operation, device);
    if (operation.is("topkrouter")) return plan_topkrouter(operation, device);
    if (operation.is("moe_topk_softmax")) return plan_topk_softmax(operation, device);
    if (operation.is("moe_topk_sigmoid")) return plan_topk_sigmoid(operation, device);
    return plan_moe_fused_gate(operation, device);
}

INFINI_CUDA_KERNEL("moe_gate", plan_gate);

}  // namespace
}  // namespace infini::cuda
