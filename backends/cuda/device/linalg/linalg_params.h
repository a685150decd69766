// Of factors and solutions: batches of matrices.
#pragma once

#include "offsets.h"

namespace infini {

// A tensor as a batch of matrices, of vectors (one row) or of numbers.
struct MatrixParams {
    void *data = nullptr;
    Offsets batch;
    int64_t rows = 1, columns = 1, row_step = 0, column_step = 1;
};

struct LinalgParams {
    MatrixParams x, b;     // inputs
    MatrixParams y, z, w;  // outputs
    double *rooms;         // a block's own memory: `room` doubles each
    int64_t count, room;   // matrices
    int64_t first;         // of a kernel that is one of several stages: the first block's matrix
    double least;          // a pivot that is not greater counts as none
};

}  // namespace infini
