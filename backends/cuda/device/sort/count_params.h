// Of searchsorted, histc and bincount.
#pragma once

#include "offsets.h"

namespace infini {

struct SearchParams {
    const void *sequences, *x;
    int64_t *y;
    Offsets begins, from, to;  // begins: of the sequences, one for each row of values
    int64_t count, row;        // values, and of a row
    int64_t size, step;        // of a sequence
    int32_t shared;            // one sequence for all
};

struct CountParams {
    const void *x, *weights;
    void *y;
    void *tables;  // of counts; of weights, where the sorted elements stood
    int64_t size, step, weight_step;
    int64_t bins, out_step;
    double least, greatest, width;
};

}  // namespace infini
