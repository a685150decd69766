// What the kernels for mixtures of experts are told. A pair is a token and one of its choices; the
// pairs that have an expert are sorted by it, and what belongs to the one at place i is row i. For
// host and device.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

struct SortPairsParams {
    const int *ids;  // [pairs]: experts; what is none gives nothing
    int pairs, experts, tile;
    // Of the blocks that moe_align made, if ids are to be found there (null: they are given).
    const int *sorted, *labels, *used;
    int positions, labelled, *place;  // place: [pairs], for the position of a pair
    // Results. starts, tiles: [experts + 1], where the rows and the tiles of rows of an expert
    // begin; cursors: [experts]; order: [pairs], the pair of a row; rows: [pairs], the row of a
    // pair or -1.
    int *starts, *tiles, *cursors, *order, *rows;
};

// Rows times their expert's matrix [n, k], all rows of a tile of one expert.
struct ExpertsParams {
    const void *a;                // rows, dense; or tokens
    const void *weights;          // all matrices, one after the other
    const void *const *pointers;  // or each by itself; null: not so
    const uint8_t *scales;        // of MXFP4: one for 32 elements
    const void *bias;             // [experts, n]; may be null
    void *c;
    int64_t c_row;
    const int *starts, *tiles, *order;
    int experts, choices, n, k, tiles_n;  // choices 0: a has rows
};

// out[token] = the sum of its rows, times their scales.
struct SumPairsParams {
    void *out;
    const void *rows;     // [rows, columns]
    const float *scales;  // [tokens, choices]; null: 1
    const int *places;    // [tokens, choices]: the row, or -1
    int64_t tokens, columns;
    int choices;
};

// Pointers that the host knows, for the device.
struct StorePointersParams {
    static constexpr int kMost = 480;
    const void **to;
    int count;
    const void *pointers[kMost];
};

}  // namespace infini
