// Of sort, topk and kthvalue: lines, and entries of a key and a place.
#pragma once

#include "offsets.h"

namespace infini {

// Lines in memory, seen from the planner.
struct SortLines {
    Offsets offsets;  // of their beginnings
    int64_t step = 1;
};

// Keys and places in the workspace, `pitch` for each line.
struct Entries {
    void *keys = nullptr;
    uint32_t *places = nullptr;
    int64_t pitch = 0;
};

// One tile of entries, sorted by a block: one line, or several short ones.
struct TileParams {
    const void *x;
    void *values, *places;
    SortLines from, to, stood;
    Entries in;  // kEntries: instead of the lines' elements
    int64_t lines;
    int32_t size;          // elements of a line
    int32_t padded;        // to a power of two
    int32_t together;      // lines that a block has
    int32_t first, count;  // of the sorted line, which are written
};

// The `count` first entries of each piece of a line.
struct SelectParams {
    const void *x;
    SortLines from;
    Entries in, out;
    int64_t lines, size;
    int32_t piece, pieces, count;
    int32_t vector;
};

// A pass of a sort digit by digit.
struct RadixParams {
    const void *x;
    void *values, *places;
    SortLines from, to, stood;
    Entries in, out;
    uint32_t *counts;  // [line][digit][tile]
    uint32_t *totals;  // [line][digit]
    int64_t lines, size;
    int32_t tiles;  // of a line
    int32_t shift;  // of the digit
    int32_t is_first, is_last;
    int64_t first, count;  // of the sorted line, which are written in the last pass
};

}  // namespace infini
