// The gates of mixtures of experts: a score for every expert, the best experts, and their weights.
#include <algorithm>
#include <limits>

#include "convert.h"
#include "functions.h"
#include "kernel.h"
#include "simd.h"
#include "threads.h"

namespace infini::cpu {

// Common code of the gates: rows of scores in F32, and the largest entries of a row.

// Working memory of one row of `experts` scores; the rows are padded to whole vectors.
struct GateScratch {
    float *score, *choice, *best, *group;
    int32_t *index;

    static int64_t padded(int64_t experts) { return (experts + 15) / 16 * 16; }
    static size_t bytes(int64_t experts) { return size_t(padded(experts)) * 20; }
    GateScratch(char *memory, int64_t experts) {
        int64_t n = padded(experts);
        score = reinterpret_cast<float *>(memory);
        choice = score + n;
        best = choice + n;
        group = best + n;
        index = reinterpret_cast<int32_t *>(group + n);
    }
};

// Calls `body(row, scratch)` for every row; each task has a chunk of rows and a scratch.
struct GateRows {
    int64_t rows = 0, experts = 0, chunks = 1;

    GateRows() = default;
    GateRows(int64_t row_count, int64_t expert_count) : rows(row_count), experts(expert_count) {
        int64_t most = 4 * int64_t(thread_count());
        chunks = std::clamp<int64_t>(rows * experts / 4096, 1, std::max<int64_t>(most, 1));
    }
    size_t workspace() const { return size_t(chunks) * GateScratch::bytes(experts); }

    template <class Body>
    void run(char *workspace, const Body &body) const {
        parallel_for(size_t(chunks), 1, [&](size_t first, size_t last) {
            for (int64_t chunk = int64_t(first); chunk < int64_t(last); ++chunk) {
                GateScratch scratch(workspace + chunk * GateScratch::bytes(experts), experts);
                int64_t end = rows * (chunk + 1) / chunks;
                for (int64_t row = rows * chunk / chunks; row < end; ++row) body(row, scratch);
            }
        });
    }
};

// Reads a row as F32 and fills the padding with `filler`.
inline void load_scores(float *score, const Shape &x, const void *data, int64_t row, float filler) {
    int64_t experts = x.size[1];
    int64_t start = row * x.stride[0];
    if (x.stride[1] == 1 || experts == 1) {
        size_t bytes = x.dtype == INFINI_DTYPE_F32 ? 4 : 2;
        to_f32(score, static_cast<const char *>(data) + start * int64_t(bytes), x.dtype,
               size_t(experts));
    } else {
        for (int64_t i = 0; i < experts; ++i) {
            score[i] = load_as<float>(x.dtype, data, start + i * x.stride[1]);
        }
    }
    for (int64_t i = experts; i < GateScratch::padded(experts); ++i) score[i] = filler;
}

template <class Function>
void map_scores(float *score, int64_t experts, const Function &function) {
    for (int64_t i = 0; i < experts; i += kWidth<float>) {
        store(score + i, function(load<F32>(score + i)));
    }
}

inline void sigmoid_scores(float *score, int64_t experts) {
    F32 one = broadcast<F32>(1.0f);
    map_scores(score, experts, [&](F32 v) { return one / (one + exp(-v)); });
}

// The padding must be -infinity.
inline void softmax_scores(float *score, int64_t experts) {
    float most = -std::numeric_limits<float>::infinity();
    for (int64_t i = 0; i < experts; ++i) most = score[i] > most ? score[i] : most;
    F32 shift = broadcast<F32>(most), sum = broadcast<F32>(0.0f);
    map_scores(score, experts, [&](F32 v) {
        F32 e = exp(v - shift);
        sum = sum + e;
        return e;
    });
    F32 scale = broadcast<F32>(1.0f / reduce_add(sum));
    map_scores(score, experts, [&](F32 v) { return v * scale; });
}

// The `count` largest values, descending; the first of equal values comes first, NaN last.
inline void select_largest(const float *value, int64_t n, int64_t count, float *best,
                           int32_t *index) {
    auto before = [](float a, float b) { return a > b || (b != b && a == a); };
    int64_t filled = 0;
    for (int64_t i = 0; i < n; ++i) {
        float v = value[i];
        if (filled == count && (count == 0 || !before(v, best[count - 1]))) continue;
        int64_t at = filled < count ? filled++ : count - 1;
        for (; at > 0 && before(v, best[at - 1]); --at) {
            best[at] = best[at - 1];
            index[at] = index[at - 1];
        }
        best[at] = v;
        index[at] = int32_t(i);
    }
}

// Overwrites the choices outside the `keep` best of `groups` equal groups with `masked`. A group
// counts by the sum of its two best.
inline void mask_groups(const GateScratch &at, int64_t experts, int64_t groups, int64_t keep,
                        float masked) {
    int64_t size = experts / groups;
    for (int64_t g = 0; g < groups; ++g) {
        float two[2] = {0, 0};
        int32_t ignored[2];
        select_largest(at.choice + g * size, size, std::min<int64_t>(size, 2), two, ignored);
        at.group[g] = two[0] + two[1];
    }
    select_largest(at.group, groups, keep, at.best, at.index);
    std::sort(at.index, at.index + keep);
    for (int64_t g = 0, next = 0; g < groups; ++g) {
        if (next < keep && at.index[next] == g) {
            ++next;
        } else {
            std::fill(at.choice + g * size, at.choice + (g + 1) * size, masked);
        }
    }
}

namespace {

// Copies the scores of the chosen experts, multiplied by `scale`.
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

// A run may request more entries than there are experts: these have the index -1.
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
                // Selected before the softmax, whose small values underflow.
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
                // Without a bias the raw scores are used for the selection: they do not underflow.
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
