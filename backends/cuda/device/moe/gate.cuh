// Gates of mixture-of-experts layers: top-k routing. Strides are in elements.
#pragma once

#include "divide.h"

namespace infini {

enum Gate { kTopkSoftmax, kTopkRouter, kMoeSoftmax, kMoeSigmoid, kFusedGate };

struct GateParams {
    float *values;
    int32_t *indices;
    const void *x;
    const float *bias;
    float *room;  // workspace of each warp in the grid, if shared memory does not suffice
    int64_t rows, x_row, x_step, bias_step;
    int64_t value_row, value_step, index_row, index_step;
    int32_t experts, chosen;  // chosen: per row
    int32_t slots;            // per row of the results; those after the chosen ones have no expert
    int32_t groups, keep;
    int32_t shared;  // entries after the chosen ones, for shared experts
    int32_t normalise, scaled;
    float cap, factor;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// Computes a score for every expert, selects the best, and computes their weights. One warp per
// row. T: the type of the logits. kGate: the kind of gate. kBias: a bias is added for the
// selection.
namespace infini {

constexpr int kWarps = 4;
constexpr bool kSoftmax = kGate == kTopkSoftmax || kGate == kMoeSoftmax;
constexpr bool kGrouped = kGate == kTopkRouter || kGate == kFusedGate;

// Workspace of a row.
struct Row {
    float *score;
    uint32_t *key;    // sort key of each expert; 0: already taken
    uint32_t *group;  // keys of groups; later the chosen experts
    int experts;
};

// Keys in the order of the values; NaN comes last, both zeros are equal. Never 0.
INFINI_DEVICE uint32_t key_of(float value) {
    const uint32_t bits = bit_cast<uint32_t>(value + 0.0f);
    if (value != value) return 1;
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// Takes the greatest key and returns its index; of equal keys, the first.
INFINI_APART int take_greatest(uint32_t *keys, int count) {
    uint64_t best = 0;
    for (int i = lane(); i < count; i += kWarp) {
        const uint64_t here = uint64_t(keys[i]) << 32 | uint32_t(~i);
        best = here > best ? here : best;
    }
    best = fold_warp(best, fold::Max());
    const int found = int(~uint32_t(best));
    sync_warp();
    if (lane() == found % kWarp) keys[found] = 0;
    sync_warp();
    return found;
}

INFINI_DEVICE void choose(const Row &row, int count) {
    for (int i = 0; i < count; ++i) {
        const int found = take_greatest(row.key, row.experts);
        if (lane() == 0) row.group[i] = uint32_t(found);
    }
    sync_warp();
}

INFINI_DEVICE void set_keys(const GateParams &p, const Row &row) {
#pragma unroll 2
    for (int i = lane(); i < row.experts; i += kWarp) {
        const float bias = kBias ? p.bias[i * p.bias_step] : 0.0f;
        row.key[i] = key_of(row.score[i] + bias);
    }
    sync_warp();
}

INFINI_DEVICE void softmax(const Row &row) {
    float most = -infinity<float>(), sum = 0;
    for (int i = lane(); i < row.experts; i += kWarp)
        most = row.score[i] > most ? row.score[i] : most;
    most = fold_warp(most, fold::Max());
    for (int i = lane(); i < row.experts; i += kWarp) {
        row.score[i] = expf(row.score[i] - most);
        sum += row.score[i];
    }
    const float scale = 1.0f / fold_warp(sum, fold::Sum());
    for (int i = lane(); i < row.experts; i += kWarp) row.score[i] *= scale;
    sync_warp();
}

INFINI_DEVICE void sigmoid(const Row &row) {
#pragma unroll 2
    for (int i = lane(); i < row.experts; i += kWarp)
        row.score[i] = 1.0f / (1.0f + expf(-row.score[i]));
    sync_warp();
}

// Whether a comes before b in descending order.
INFINI_DEVICE bool before(float a, float b) { return a > b || (b != b && a == a); }

// Restricts the choice to the `keep` best groups: the others get the key of `masked`. A group is
// ranked by the sum of its two best scores.
INFINI_DEVICE void mask_groups(const GateParams &p, const Row &row, float masked) {
    const int size = row.experts / p.groups;
#pragma unroll 1
    for (int g = lane(); g < p.groups; g += kWarp) {
        float first = 0, second = 0;
        int at = g % size;  // so that lanes access different banks
#pragma unroll 2
        for (int j = 0; j < size; ++j) {
            const int i = g * size + at;
            at = at + 1 < size ? at + 1 : 0;
            const float value = row.score[i] + p.bias[i * p.bias_step];
            if (j == 0) {
                first = value;
            } else if (before(value, first)) {
                second = first, first = value;
            } else if (j == 1 || before(value, second)) {
                second = value;
            }
        }
        row.group[g] = key_of(size > 1 ? first + second : first);
    }
    sync_warp();
    for (int k = 0; k < p.keep; ++k) take_greatest(row.group, p.groups);
#pragma unroll 2
    for (int i = lane(); i < row.experts; i += kWarp)
        if (row.group[i / size] != 0) row.key[i] = key_of(masked);
    sync_warp();
}

INFINI_DEVICE float scale_of(const GateParams &p, float sum) {
    if (kGate == kTopkRouter) return p.factor / (1e-9f + sum);
    if (kGate == kFusedGate) return (p.scaled ? p.factor : 1.0f) / sum;
    return p.normalise ? 1.0f / sum : 1.0f;
}

INFINI_DEVICE void write(const GateParams &p, const Row &row, int64_t number) {
    float sum = 0;
#pragma unroll 1
    for (int i = lane(); i < p.chosen; i += kWarp) sum += row.score[row.group[i]];
    sum = fold_warp(sum, fold::Sum());
    const float scale = scale_of(p, sum);
    float *values = p.values + number * p.value_row;
    int32_t *indices = p.indices + number * p.index_row;
#pragma unroll 1
    for (int i = lane(); i < p.slots; i += kWarp) {
        float value = 0;
        int32_t index = -1;
        if (i < p.chosen) {
            index = int32_t(row.group[i]);
            value = row.score[index] * scale;
        } else if (kGate == kFusedGate) {
            index = p.experts + i - p.chosen;
            value = sum / p.factor / sum * (p.scaled ? p.factor : 1.0f);
        }
        values[i * p.value_step] = value;
        indices[i * p.index_step] = index;
    }
    sync_warp();  // the row's memory is reused
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(GateParams, kWarps *kWarp, 1) {
    INFINI_DYNAMIC_SHARED(memory);
    const int64_t mine = int64_t(blockIdx.x) * kWarps + warp();
    float *room = p.room ? p.room + mine * 3 * p.experts
                         : reinterpret_cast<float *>(memory) + int64_t(warp()) * 3 * p.experts;
    const Row row = {room, reinterpret_cast<uint32_t *>(room + p.experts),
                     reinterpret_cast<uint32_t *>(room + 2 * p.experts), p.experts};
    for (int64_t number = mine; number < p.rows; number += int64_t(gridDim.x) * kWarps) {
        const T *x = static_cast<const T *>(p.x) + number * p.x_row;
        for (int i = lane(); i < p.experts; i += kWarp) {
            float value = convert<float>(x[i * p.x_step]);
            if (kGate == kMoeSoftmax && p.cap != 0) value = tanhf(value / p.cap) * p.cap;
            row.score[i] = value;
        }
        sync_warp();
        // Without a bias the raw values are used for the selection, as they do not underflow.
        const bool early = !kBias && !kGrouped;
        if (early) {
            set_keys(p, row);
            choose(row, p.chosen);
        }
        if (kSoftmax)
            softmax(row);
        else
            sigmoid(row);
        if (!early) {
            set_keys(p, row);
            if (kGrouped) mask_groups(p, row, kGate == kTopkRouter ? 0.0f : -infinity<float>());
            choose(row, p.chosen);
        }
        write(p, row, number);
    }
}

#endif  // INFINI_DEVICE
