// Of block_diag: the rows of the output that one of the inputs is in. Strides in elements.
#pragma once

#include "divide.h"

namespace infini {

struct BlockDiagParams {
    void *to;
    const void *from;
    int64_t rows, columns;  // of the output's part
    int64_t first, width;   // where the input stands in it
    int64_t to_row, to_step, from_row, from_step;
    int64_t row_blocks;  // rows that the grid has at a time
};

}  // namespace infini
