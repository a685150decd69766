// Pairs (token, choice) grouped by their experts: a counting sort for two operators.
#include <algorithm>

#include "kernel.h"

namespace infini::cpu {
namespace {

void check_pairs(int64_t pairs) {
    if (pairs > INT32_MAX) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "more pairs than a 32-bit number counts"};
    }
}

std::unique_ptr<Plan> plan_moe_align(const Operation &op) {
    int64_t capacity = op.tensor(0).numel(), blocks = op.tensor(1).numel();
    int64_t pairs = op.tensor(3).numel(), experts = op.integer(0), block = op.integer(1);
    check_pairs(pairs);
    int64_t needed = 0;
    if (__builtin_mul_overflow(std::min(pairs, experts + 1), block - 1, &needed) ||
        __builtin_add_overflow(needed, pairs, &needed) || capacity < needed) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE,
                      "sorted_token_ids is too short for all blocks of all experts"};
    }
    if (blocks < (needed + block - 1) / block) {
        throw Refusal{INFINI_STATUS_BAD_TENSOR_SHAPE, "expert_ids is too short for all blocks"};
    }
    return make_plan(
        [=](const Arguments &a) {
            int32_t *sorted = a.pointer<int32_t>(0), *labels = a.pointer<int32_t>(1);
            int32_t *total = a.pointer<int32_t>(2);
            const int32_t *ids = a.pointer<const int32_t>(3), *map = a.pointer<const int32_t>(4);
            int64_t *next = reinterpret_cast<int64_t *>(a.workspace());
            // The group of a pair: 0 for id -1, then the experts; -1 for pairs that are skipped.
            auto group = [&](int64_t pair) -> int64_t {
                int64_t id = ids[pair];
                if (id < -1 || id >= experts) return -1;
                if (id >= 0 && map) {
                    id = map[id];
                    if (id < 0 || id >= experts) return -1;
                }
                return id + 1;
            };
            std::fill(next, next + experts + 1, 0);
            for (int64_t pair = 0; pair < pairs; ++pair) {
                if (int64_t g = group(pair); g >= 0) ++next[g];
            }
            std::fill(sorted, sorted + capacity, int32_t(pairs));
            int64_t at = 0;
            for (int64_t g = 0; g <= experts; ++g) {
                int64_t used = (next[g] + block - 1) / block;
                std::fill(labels + at / block, labels + at / block + used, int32_t(g - 1));
                next[g] = at;
                at += used * block;
            }
            std::fill(labels + at / block, labels + blocks, -1);
            *total = int32_t(at);
            for (int64_t pair = 0; pair < pairs; ++pair) {
                if (int64_t g = group(pair); g >= 0) sorted[next[g]++] = int32_t(pair);
            }
        },
        size_t(experts + 1) * sizeof(int64_t));
}

std::unique_ptr<Plan> plan_prepare_moe_input(const Operation &op) {
    bool blockscales = bool(op.tensor(1));
    Tensor topk = op.tensor(6);
    int64_t pairs = topk.numel(), choices = std::max<int64_t>(topk.size(1), 1);
    int64_t experts = op.integer(0), n = op.integer(1), k = op.integer(2);
    check_pairs(pairs);
    return make_plan(
        [=](const Arguments &a) {
            int32_t *offsets = a.pointer<int32_t>(0);
            int32_t *scales = blockscales ? a.pointer<int32_t>(1) : nullptr;
            int32_t *sizes1 = a.pointer<int32_t>(2), *sizes2 = a.pointer<int32_t>(3);
            int32_t *token = a.pointer<int32_t>(4), *place = a.pointer<int32_t>(5);
            const int32_t *ids = a.pointer<const int32_t>(6);
            int64_t *next = reinterpret_cast<int64_t *>(a.workspace());
            std::fill(next, next + experts, 0);
            for (int64_t pair = 0; pair < pairs; ++pair) {
                if (ids[pair] >= 0 && ids[pair] < experts) ++next[ids[pair]];
            }
            int64_t at = 0, scale = 0;
            for (int64_t e = 0; e < experts; ++e) {
                int64_t count = next[e];
                offsets[e] = int32_t(at);
                if (scales) scales[e] = int32_t(scale);
                int32_t *first = sizes1 + 3 * e, *second = sizes2 + 3 * e;
                first[0] = int32_t(count), first[1] = int32_t(2 * n), first[2] = int32_t(k);
                second[0] = int32_t(count), second[1] = int32_t(k), second[2] = int32_t(n);
                next[e] = at;
                at += count;
                scale += (count + 127) / 128 * 128;
            }
            offsets[experts] = int32_t(at);
            if (scales) scales[experts] = int32_t(scale);
            std::fill(token + at, token + pairs, 0);
            for (int64_t pair = 0; pair < pairs; ++pair) {
                place[pair] = 0;
                if (ids[pair] < 0 || ids[pair] >= experts) continue;
                place[pair] = int32_t(next[ids[pair]]++);
                token[place[pair]] = int32_t(pair / choices);
            }
        },
        size_t(experts) * sizeof(int64_t));
}

std::unique_ptr<Plan> plan_align(const Operation &operation) {
    return operation.is("prepare_moe_input") ? plan_prepare_moe_input(operation)
                                             : plan_moe_align(operation);
}

INFINI_KERNEL("moe_align", plan_align);

}  // namespace
}  // namespace infini::cpu
