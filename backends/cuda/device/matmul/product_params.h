// Parameters of matrix products. For host and device.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// An operand: the rows of a or the columns of b are its lines, which extend along k. Strides are in
// elements.
struct MatmulOperand {
    const void *data;
    int64_t line, along, batch;
};

// c = alpha * a @ b * row_scale * column_scale + bias + beta * addend. Null tensors are left out;
// the addend, which may be c, is not read when beta is 0.
struct MatmulParams {
    MatmulOperand a, b;
    void *c;
    int64_t c_row, c_column, c_batch;
    const void *addend;  // of c's type
    int64_t addend_row, addend_column, addend_batch;
    double alpha, beta;
    const float *row_scale, *column_scale;
    const void *bias;  // per column
    int bias_stride;
    int m, n, k;
    int tiles_m, tiles_n;
    // Split k: chunks of `k_each` elements (the last one may be shorter), whose sums [split, batch,
    // m, n] are stored in `partial` and added up later.
    int splits, k_each;
    void *partial;
    int batch;
};

}  // namespace infini
