// Experts with dense matrices: fused_moe, moe_fused_dense and deepseek_moe.
#include "moe_experts.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_fused_moe(const Operation &op) {
    Tensor out = op.tensor(0), ids = op.tensor(2), w1 = op.tensor(4), w2 = op.tensor(5);
    ExpertShape s;
    s.invariant = op.batch_invariant();
    s.dtype = out.dtype, s.tokens = out.size(0), s.choices = ids.size(1), s.experts = w1.size(0);
    s.hidden = out.size(1), s.wide = w1.size(1), s.inner = w2.size(2);
    s.gate = Gate(op.integer(0));
    s.bias1 = op.tensor(6).dtype, s.bias2 = op.tensor(7).dtype;
    if (s.wide != (s.gate == Gate::Silu ? 1 : 2) * s.inner) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "w1 must have as many rows as w2 has columns, or twice as many with a gate"};
    }
    DenseExperts first{nullptr, s.dtype, s.wide, s.hidden};
    DenseExperts second{nullptr, s.dtype, s.hidden, s.inner};
    Experts experts(s);
    return make_plan(
        [=](const Arguments &a) {
            ExpertData data{a.pointer<void>(0), a.pointer<const void>(1),
                            a.pointer<const int32_t>(2), a.pointer<const float>(3)};
            if (s.bias1) data.bias1 = a.pointer<const void>(6);
            if (s.bias2) data.bias2 = a.pointer<const void>(7);
            DenseExperts w1 = first, w2 = second;
            w1.data = a.pointer<const void>(4), w2.data = a.pointer<const void>(5);
            experts.run(data, w1, w2, a.workspace());
        },
        experts.workspace(first, second));
}

// The experts of the pairs are given by the blocks that moe_align made.
std::unique_ptr<Plan> plan_moe_fused_dense(const Operation &op) {
    Tensor out = op.tensor(0), w13 = op.tensor(2), ids = op.tensor(5);
    ExpertShape s;
    s.invariant = op.batch_invariant();
    s.dtype = out.dtype, s.tokens = out.size(0), s.choices = ids.size(1), s.experts = w13.size(0);
    s.hidden = out.size(1), s.wide = w13.size(1), s.inner = s.wide / 2;
    int64_t positions = op.tensor(6).numel(), blocks = op.tensor(7).numel();
    int64_t block = blocks ? std::max<int64_t>(1, (positions + blocks - 1) / blocks) : 1;
    DenseExperts first{nullptr, s.dtype, s.wide, s.hidden};
    DenseExperts second{nullptr, s.dtype, s.hidden, s.inner};
    Experts experts(s);
    size_t id_bytes = size_t(s.pairs() + 15) / 16 * 64;
    return make_plan(
        [=](const Arguments &a) {
            const int32_t *sorted = a.pointer<const int32_t>(6);
            const int32_t *labels = a.pointer<const int32_t>(7);
            int64_t used = std::clamp<int64_t>(*a.pointer<const int32_t>(8), 0, positions);
            if (blocks == 0) used = 0;
            auto *expert = reinterpret_cast<int32_t *>(a.workspace());
            std::fill(expert, expert + s.pairs(), -1);
            for (int64_t i = 0; i < used; ++i) {
                if (sorted[i] >= 0 && sorted[i] < s.pairs()) expert[sorted[i]] = labels[i / block];
            }
            ExpertData data{a.pointer<void>(0), a.pointer<const void>(1), expert,
                            a.pointer<const float>(4)};
            DenseExperts w1 = first, w2 = second;
            w1.data = a.pointer<const void>(2), w2.data = a.pointer<const void>(3);
            experts.run(data, w1, w2, a.workspace() + id_bytes);
        },
        id_bytes + experts.workspace(first, second));
}

// Gate and up are separate matrices: two parts of the first layer.
struct GateUpExperts {
    const void *const *gate, *const *up;
    int dtype;
    int64_t inner, hidden;

    template <class Use>
    void each(int64_t expert, Matmul product, const Use &use) const {
        product.n = inner;
        product.b = {gate ? gate[expert] : nullptr, dtype, 1, hidden, 0};
        use(product);
        product.b.data = up ? up[expert] : nullptr;
        const int64_t bytes = dtype == INFINI_DTYPE_F32 ? 4 : 2;
        if (product.c.data) product.c.data = static_cast<char *>(product.c.data) + bytes * inner;
        use(product);
    }
};

struct DownExperts {
    const void *const *down;
    int dtype;
    int64_t inner;

    template <class Use>
    void each(int64_t expert, Matmul product, const Use &use) const {
        product.b = {down ? down[expert] : nullptr, dtype, 1, inner, 0};
        use(product);
    }
};

std::unique_ptr<Plan> plan_deepseek_moe(const Operation &op) {
    Tensor out = op.tensor(0), ids = op.tensor(2);
    ExpertShape s;
    s.invariant = op.batch_invariant();
    s.dtype = out.dtype, s.tokens = out.size(0), s.hidden = out.size(1), s.choices = ids.size(1);
    s.inner = op.integer(0), s.experts = op.integer(1), s.wide = 2 * s.inner;
    s.scale_inside = true;
    GateUpExperts first{nullptr, nullptr, s.dtype, s.inner, s.hidden};
    DownExperts second{nullptr, s.dtype, s.inner};
    Experts experts(s);
    return make_plan(
        [=](const Arguments &a) {
            ExpertData data{a.pointer<void>(0), a.pointer<const void>(1),
                            a.pointer<const int32_t>(2), a.pointer<const float>(3)};
            // The last scalar identifies the run function: the one with arrays of pointers on the
            // host, which are passed element by element, or the one with arrays on the device.
            const void *const *gate = a.c.pointers + 4, *const *up = gate + s.experts;
            const void *const *down = up + s.experts;
            if (a.integer(int(a.c.scalar_count) - 1) == 1) {
                gate = a.pointer<const void *const>(4), up = a.pointer<const void *const>(5);
                down = a.pointer<const void *const>(6);
            }
            experts.run(data, GateUpExperts{gate, up, s.dtype, s.inner, s.hidden},
                        DownExperts{down, s.dtype, s.inner}, a.workspace());
        },
        experts.workspace(first, second));
}

std::unique_ptr<Plan> plan_experts(const Operation &operation) {
    if (operation.is("fused_moe")) return plan_fused_moe(operation);
    if (operation.is("moe_fused_dense")) return plan_moe_fused_dense(operation);
    return plan_deepseek_moe(operation);
}

INFINI_KERNEL("fused_moe", plan_experts);

}  // namespace
}  // namespace infini::cpu
