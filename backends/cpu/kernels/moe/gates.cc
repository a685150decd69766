// The gates of mixtures of experts: a score for every expert, the best of them, and their weights.
#include <algorithm>

#include "routing.h"

namespace infini::cpu {
namespace {

// Copies the scores of the chosen experts out, each times `scale`.
void write_choice(const GateScratch &at, int64_t count, float scale, float *values,
                  int64_t value_stride, int32_t *indices, int64_t index_stride) {
    for (int64_t i = 0; i < count; ++i) {
        values[i * value_stride] = at.score[at.index[i]] * scale;
        indices[i * index_stride] = at.index[i];
    }
}

float chosen_sum(const GateScratch &at, int64_t count) {
    float sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += at.score[at.index[i]];
    return sum;
}

// A run may ask for more entries than there are experts: those have no expert.
void write_nobody(int64_t from, int64_t to, float *values, int32_t *indices) {
    for (int64_t i = from; i < to; ++i) values[i] = 0, indices[i] = -1;
}

std::unique_ptr<Plan> plan_topksoftmax(const Operation &op) {
    Shape x(op.tensor(0));
    GateRows rows(x.size[0], x.size[1]);
    return make_plan(
        [=](const Arguments &a) {
            float *values = a.pointer<float>(0);
            int32_t *indices = a.pointer<int32_t>(1);
            const void *data = a.pointer<const void>(2);
            int64_t topk = std::max<int64_t>(a.integer(0), 0), norm = a.integer(1);
            int64_t count = std::min(topk, rows.experts);
            rows.run(a.workspace(), [&](int64_t row, const GateScratch &at) {
                load_scores(at.score, x, data, row, -std::numeric_limits<float>::infinity());
                // Chosen before the softmax, whose small values underflow.
                select_largest(at.score, rows.experts, count, at.best, at.index);
                softmax_scores(at.score, rows.experts);
                float scale = norm ? 1.0f / chosen_sum(at, count) : 1.0f;
                float *value = values + row * topk;
                int32_t *index = indices + row * topk;
                write_choice(at, count, scale, value, 1, index, 1);
                write_nobody(count, topk, value, index);
            });
        },
        rows.workspace());
}

std::unique_ptr<Plan> plan_topkrouter(const Operation &op) {
    Shape x(op.tensor(0));
    GateRows rows(x.size[0], x.size[1]);
    return make_plan(
        [=](const Arguments &a) {
            float *values = a.pointer<float>(0);
            int32_t *indices = a.pointer<int32_t>(1);
            const void *data = a.pointer<const void>(2);
            const float *bias = a.pointer<const float>(3);
            float factor = float(a.number(0));
            int64_t topk = std::max<int64_t>(a.integer(1), 0);
            int64_t count = std::min(topk, rows.experts);
            rows.run(a.workspace(), [&](int64_t row, const GateScratch &at) {
                load_scores(at.score, x, data, row, 0);
                sigmoid_scores(at.score, rows.experts);
                for (int64_t i = 0; i < rows.experts; ++i) at.choice[i] = at.score[i] + bias[i];
                mask_groups(at, rows.experts, 8, 4, 0.0f);
                select_largest(at.choice, rows.experts, count, at.best, at.index);
                float scale = factor / (1e-9f + chosen_sum(at, count));
                float *value = values + row * topk;
                int32_t *index = indices + row * topk;
                write_choice(at, count, scale, value, 1, index, 1);
                write_nobody(count, topk, value, index);
            });
        },
        rows.workspace());
}

// moe_topk_softmax and moe_topk_sigmoid.
template <bool softmax>
std::unique_ptr<Plan> plan_topk(const Operation &op) {
    Shape weights(op.tensor(0)), chosen(op.tensor(1)), x(op.tensor(2)), bias(op.tensor(3));
    bool renormalize = op.integer(0) != 0;
    float cap = softmax ? float(op.number(1)) : 0.0f;
    GateRows rows(x.size[0], x.size[1]);
    int64_t count = weights.size[1];
    return make_plan(
        [=](const Arguments &a) {
            float *values = a.pointer<float>(0);
            int32_t *indices = a.pointer<int32_t>(1);
            const void *data = a.pointer<const void>(2);
            const float *correction = bias ? a.pointer<const float>(3) : nullptr;
            rows.run(a.workspace(), [&](int64_t row, const GateScratch &at) {
                load_scores(at.score, x, data, row, -std::numeric_limits<float>::infinity());
                if (cap != 0) {
                    F32 c = broadcast<F32>(cap);
                    map_scores(at.score, rows.experts, [&](F32 v) { return tanh(v / c) * c; });
                    std::fill(at.score + rows.experts, at.score + GateScratch::padded(rows.experts),
                              -std::numeric_limits<float>::infinity());
                }
                // Without a bias the raw values choose as well, and do not underflow.
                const float *choice = at.score;
                if (!correction) {
                    select_largest(choice, rows.experts, count, at.best, at.index);
                }
                if (softmax) {
                    softmax_scores(at.score, rows.experts);
                } else {
                    sigmoid_scores(at.score, rows.experts);
                }
                if (correction) {
                    for (int64_t i = 0; i < rows.experts; ++i) {
                        at.choice[i] = at.score[i] + correction[i * bias.stride[0]];
                    }
                    select_largest(at.choice, rows.experts, count, at.best, at.index);
                }
                float scale = renormalize ? 1.0f / chosen_sum(at, count) : 1.0f;
                write_choice(at, count, scale, values + row * weights.stride[0], weights.stride[1],
                             indices + row * chosen.stride[0], chosen.stride[1]);
            });
        },
        rows.workspace());
}

std::unique_ptr<Plan> plan_moe_fused_gate(const Operation &op) {
    Shape weights(op.tensor(0)), chosen(op.tensor(1)), x(op.tensor(2)), bias(op.tensor(3));
    int64_t groups = op.integer(0), keep = op.integer(1), shared = op.integer(2);
    float factor = float(op.number(3));
    bool scaled = op.integer(4) != 0;
    GateRows rows(x.size[0], x.size[1]);
    if (rows.experts & (rows.experts - 1)) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "the number of experts is no power of two"};
    }
    int64_t routed = weights.size[1] - shared;
    return make_plan(
        [=](const Arguments &a) {
            float *values = a.pointer<float>(0);
            int32_t *indices = a.pointer<int32_t>(1);
            const void *data = a.pointer<const void>(2);
            const float *correction = a.pointer<const float>(3);
            rows.run(a.workspace(), [&](int64_t row, const GateScratch &at) {
                load_scores(at.score, x, data, row, 0);
                sigmoid_scores(at.score, rows.experts);
                for (int64_t i = 0; i < rows.experts; ++i) {
                    at.choice[i] = at.score[i] + correction[i * bias.stride[0]];
                }
                mask_groups(at, rows.experts, groups, keep,
                            -std::numeric_limits<float>::infinity());
                select_largest(at.choice, rows.experts, routed, at.best, at.index);
                float sum = chosen_sum(at, routed), scale = scaled ? factor : 1.0f;
                float *value = values + row * weights.stride[0];
                int32_t *index = indices + row * chosen.stride[0];
                write_choice(at, routed, scale / sum, value, weights.stride[1], index,
                             chosen.stride[1]);
                for (int64_t i = routed; i < routed + shared; ++i) {
                    value[i * weights.stride[1]] = sum / factor / sum * scale;
                    index[i * chosen.stride[1]] = int32_t(rows.experts + i - routed);
                }
            });
        },
        rows.workspace());
}

std::unique_ptr<Plan> plan_gate(const Operation &operation) {
    if (operation.is("topksoftmax")) return plan_topksoftmax(operation);
    if (operation.is("topkrouter")) return plan_topkrouter(operation);
    if (operation.is("moe_topk_softmax")) return plan_topk<true>(operation);
    if (operation.is("moe_topk_sigmoid")) return plan_topk<false>(operation);
    return plan_moe_fused_gate(operation);
}

INFINI_KERNEL("moe_gate", plan_gate);

}  // namespace
}  // namespace infini::cpu
