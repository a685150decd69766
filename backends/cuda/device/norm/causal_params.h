// Of causal_softmax. Strides in elements.
#pragma once

#include "places.h"

namespace infini {

struct CausalParams {
    void *y;
    const void *x;
    Places<2> rows;
    int64_t columns, lines;  // rows of a matrix
    int64_t y_step, x_step;
    int32_t whole;
};

}  // namespace infini
