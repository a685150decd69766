// block_diag: the rows of the output that one of the inputs is in. Strides in elements.
#pragma once

#include "divide.h"

namespace infini {

struct BlockDiagParams {
    void *to;
    const void *from;
    int64_t rows, columns;  // of the output's part
    int64_t first, width;   // where the input is in it
    int64_t to_row, to_step, from_row, from_step;
    int64_t row_blocks;  // rows that the grid has at a time
};

}  // namespace infini

#ifdef INFINI_DEVICE  // the rest is for the device

// Rows of block_diag: elements E of a matrix, zeros before and behind it.
using namespace infini;

INFINI_ENTRY(BlockDiagParams, 256, 1) {
    const int64_t column = int64_t(blockIdx.x) * 256 + threadIdx.x;
    if (column >= p.columns) return;
    const int64_t inside = column - p.first;
    const bool given = inside >= 0 && inside < p.width;
    for (int64_t row = blockIdx.y; row < p.rows; row += p.row_blocks) {
        const E value =
            given ? static_cast<const E *>(p.from)[row * p.from_row + inside * p.from_step] : E{};
        static_cast<E *>(p.to)[row * p.to_row + column * p.to_step] = value;
    }
}

#endif  // INFINI_DEVICE
