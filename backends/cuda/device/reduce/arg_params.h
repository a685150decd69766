// Of argmax and argmin.
#pragma once

#include "offsets.h"

namespace infini {

struct ArgParams {
    const void *x;
    int64_t *y;
    void *parts;  // Best of each piece and row, if rows are cut
    Offsets from, to, folded;
    int64_t rows, total;  // elements of a row
    int64_t piece;        // elements of a piece, below 2^31
    int64_t columns = 1;  // across: rows that lie side by side, `from` then has those above them
    int32_t pieces = 1;
    int32_t vector = 0;  // 16 bytes can be read at once
};

}  // namespace infini
