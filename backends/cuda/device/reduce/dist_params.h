// Of dist and cdist.
#pragma once

#include "offsets.h"

namespace infini {

struct DistParams {
    const void *x1, *x2;
    void *y;
    double *parts;  // of each block
    Offsets first, second;
    int64_t count;
    int32_t blocks;
    double p;
};

struct CdistParams {
    const void *x1, *x2;
    void *y;
    Offsets first, second, to;  // of the batches
    int64_t rows, columns, width;
    int64_t first_row, first_step, second_row, second_step, to_row, to_step;
    float p;
};

}  // namespace infini
