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

// A sort digit by digit.
struct RadixParams {
    const void *x;
    void *values, *places;
    SortLines from, to, stood;
    Entries rooms[2];
    uint32_t *counts;     // [line][part][pass][digit]
    uint32_t *starts;     // [line][pass][digit]
    uint32_t *idle;       // [line][pass]
    uint32_t *states[2];  // [line][tile][digit], of a pass and the next one
    uint32_t *tickets;    // [pass]
    int64_t lines, size;
    int64_t part;          // elements; is counted by a block
    int32_t parts, tiles;  // of a line
    int32_t pass, vector;
    int64_t first, count;  // of the sorted line, which are written in the last pass
};

}  // namespace infini
