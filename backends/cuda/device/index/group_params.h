// Of a stable sort of entries by the group that each is in: one digit of the groups' numbers after
// the other, every warp with a piece of the entries.
#pragma once

#include "divide.h"

namespace infini {

struct GroupParams {
    const uint32_t *keys, *order;  // of the entries; no order: as they stand
    uint32_t *sorted_keys, *sorted_order;
    uint32_t *counts;  // [digit][piece]
    int64_t entries;
    int32_t piece, pieces;  // entries of a piece
    int32_t shift;          // of the digit
};

// The same for few entries, all by one block. Lists of entries are `stride` words apart: keys and
// sorted keys, which change places with each pass, and two of the entries' numbers.
struct GroupSmallParams {
    uint32_t *lists;
    int64_t stride;
    int32_t entries, passes;
};

// counts[i] becomes the sum of those before it, and `total` of all.
struct RunningSumParams {
    void *counts, *total;
    int64_t count;
};

// first[g]: how many entries have a smaller key than g, for g from 0 to `groups`.
struct GroupFirstParams {
    const uint32_t *sorted_keys;
    uint32_t *first;
    int64_t entries, groups;
};

}  // namespace infini
