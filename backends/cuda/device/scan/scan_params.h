// Of running values along lines.
#pragma once

#include "offsets.h"

namespace infini {

struct ScanParams {
    const void *x;
    void *y;
    int64_t *places;          // of cummax and cummin
    void *parts;              // what pieces of lines come to: [line][piece], across [piece][line]
    Offsets from, to, stood;  // of the lines' beginnings
    int64_t from_step, to_step, stood_step;
    int64_t lines, size;
    int64_t piece;   // elements of a piece
    int32_t pieces;  // of a line
    int32_t vector;  // neighbours can be read and written at once
};

}  // namespace infini
