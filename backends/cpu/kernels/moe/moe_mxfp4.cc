// Experts with matrices in MXFP4.
#include "moe_mxfp4.h"

#include "moe_experts.h"

namespace infini::cpu {
namespace {

struct Mxfp4Experts {
    const uint8_t *codes, *scales;
    int64_t out, in;

    template <class Use>
    void each(int64_t expert, Matmul product, const Use &use) const {
        int64_t size = expert * out * in;
        Mxfp4Weights weights(codes + size / 2, scales + size / 32, in);
        product.weights = &weights;
        use(product);
    }
};

std::unique_ptr<Plan> plan_fused_moe_mxfp4(const Operation &op) {
    Tensor out = op.tensor(0), ids = op.tensor(2), w13 = op.tensor(4);
    ExpertShape s;
    s.invariant = op.batch_invariant();
    s.dtype = out.dtype, s.tokens = out.size(0), s.choices = ids.size(1), s.experts = w13.size(0);
    s.hidden = out.size(1), s.wide = w13.size(1), s.inner = s.wide / 2;
    s.gate = Gate(op.integer(0));
    Mxfp4Experts first{nullptr, nullptr, s.wide, s.hidden};
    Mxfp4Experts second{nullptr, nullptr, s.hidden, s.inner};
    Experts experts(s);
    return make_plan(
        [=](const Arguments &a) {
            ExpertData data{a.pointer<void>(0), a.pointer<const void>(1),
                            a.pointer<const int32_t>(2), a.pointer<const float>(3)};
            Mxfp4Experts w13 = first, w2 = second;
            w13.codes = a.pointer<const uint8_t>(4), w13.scales = a.pointer<const uint8_t>(5);
            w2.codes = a.pointer<const uint8_t>(6), w2.scales = a.pointer<const uint8_t>(7);
            experts.run(data, w13, w2, a.workspace());
        },
        experts.workspace(first, second));
}

INFINI_KERNEL("fused_moe_mxfp4", plan_fused_moe_mxfp4);

}  // namespace
}  // namespace infini::cpu
