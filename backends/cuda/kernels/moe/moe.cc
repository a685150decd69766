// The operators fused_moe, fused_moe_mxfp4, moe_fused_dense and deepseek_moe.
#include "experts.h"

namespace infini::cuda {
namespace {

ExpertsShape shape_of(const Tensor &out, const Tensor &ids) {
    ExpertsShape s;
    s.dtype = out.dtype, s.tokens = out.size(0), s.hidden = out.size(1), s.choices = ids.size(1);
    return s;
}

std::unique_ptr<Plan> plan_fused_moe(const Operation &op, Device &device) {
    const Tensor w1 = op.tensor(4), w2 = op.tensor(5);
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(2));
    s.experts = w1.size(0), s.wide = w1.size(1), s.inner = w2.size(2), s.kind = int(op.integer(0));
    if (s.wide != (s.kind == 0 ? 1 : 2) * s.inner)
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "w1 must have as many rows as w2 has columns, or twice as many with a gate"};
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), a.pointer<int>(2),
                      a.pointer<float>(3)};
        d.w1 = a.pointer<void>(4), d.w2 = a.pointer<void>(5);
        d.bias1 = a.pointer<void>(6), d.bias2 = a.pointer<void>(7);
        return d;
    });
}

std::unique_ptr<Plan> plan_fused_moe_mxfp4(const Operation &op, Device &device) {
    const Tensor w13 = op.tensor(4);
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(2));
    s.experts = w13.size(0), s.wide = w13.size(1), s.inner = s.wide / 2;
    s.kind = int(op.integer(0)), s.mxfp4 = true;
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), a.pointer<int>(2),
                      a.pointer<float>(3)};
        d.w1 = a.pointer<void>(4), d.scales1 = a.pointer<uint8_t>(5);
        d.w2 = a.pointer<void>(6), d.scales2 = a.pointer<uint8_t>(7);
        return d;
    });
}

// The experts of the pairs come from the blocks that moe_align made.
std::unique_ptr<Plan> plan_moe_fused_dense(const Operation &op, Device &device) {
    const Tensor w13 = op.tensor(2);
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(5));
    s.experts = w13.size(0), s.wide = w13.size(1), s.inner = s.wide / 2;
    s.positions = op.tensor(6).numel(), s.labels = op.tensor(7).numel();
    if (s.labels == 0) s.positions = 0;
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &s) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), nullptr, a.pointer<float>(4)};
        d.w1 = a.pointer<void>(2), d.w2 = a.pointer<void>(3);
        if (s.positions > 0) {
            d.sorted = a.pointer<int>(6), d.labels = a.pointer<int>(7);
            d.used = a.pointer<int>(8);
        }
        return d;
    });
}

std::unique_ptr<Plan> plan_deepseek_moe(const Operation &op, Device &device) {
    ExpertsShape s = shape_of(op.tensor(0), op.tensor(2));
    s.inner = op.integer(0), s.experts = op.integer(1), s.wide = 2 * s.inner;
    s.scale_inside = s.separate = true;
    return plan_experts(s, device, [](const Arguments &a, const ExpertsShape &) {
        ExpertsData d{a.pointer<void>(0), a.pointer<void>(1), a.pointer<int>(2),
                      a.pointer<float>(3)};
        // The last scalar says which run function it was: the one with arrays of pointers on the
        // host, which arrive written out, or the one with arrays on the device.
        if (a.integer(int(a.c.scalar_count) - 1) == 1) {
            d.gates = a.pointer<const void *const>(4), d.ups = a.pointer<const void *const>(5);
            d.downs = a.pointer<const void *const>(6);
        } else {
            d.host_pointers = a.c.pointers + 4;
        }
        return d;
    });
}

INFINI_CUDA_KERNEL("fused_moe_mxfp4", plan_fused_moe_mxfp4);

std::unique_ptr<Plan> plan_experts(const Operation &operation, Device &device) {
    if (operation.is("fused_moe")) return plan_fused_moe(operation, device);
    if (operation.is("moe_fused_dense")) return plan_moe_fused_dense(operation, device);
    return plan_deepseek_moe(operation, device);
}

INFINI_CUDA_KERNEL("fused_moe", plan_experts);

}  // namespace
}  // namespace infini::cuda
