// Of moe_align and prepare_moe_input: pairs (token, choice), grouped by their experts.
#pragma once

#include "divide.h"

namespace infini {

struct AlignKeysParams {
    const int32_t *ids, *map;
    uint32_t *keys;
    int64_t pairs, experts;
};

struct AlignParams {
    const uint32_t *first, *order;  // pairs of each group, one group after the other
    uint32_t *starts;               // of the groups' blocks; before: their lengths
    const uint32_t *total;
    int32_t *sorted, *labels;
    int64_t pairs, groups, block, capacity, blocks;
};

// moe_align of few pairs, by one block.
struct AlignSmallParams {
    const int32_t *ids, *map;
    int32_t *sorted, *labels, *total;
    int32_t pairs, experts, capacity, blocks;
    Divider block;
};

struct PrepareParams {
    const uint32_t *first, *order;
    int32_t *offsets, *scales, *sizes1, *sizes2, *token, *place;
    int64_t pairs, experts, n, k;
    Divider choices;
};

struct MoeSumParams {
    void *y;
    const void *x;
    int64_t tokens, choices, vectors;  // of a token
    int64_t y_token, y_step, x_token, x_choice, x_step;
    int32_t whole;
};

}  // namespace infini
