// Of quantisation to int8 and back.
#pragma once

#include "places.h"

namespace infini {

// Rows of a dense matrix.
struct ChannelParams {
    int8_t *out;
    float *scales, *zeros;
    const void *x;
    int64_t rows, vectors;  // of a row
    int32_t whole;
};

// A whole tensor with one scale.
struct TensorParams {
    void *out;
    const void *x;
    float *scale, *parts;  // greatest elements, one of each block that looked for them
    Places<2> vectors;     // of the output and x
    int32_t part_count;
    int32_t whole_out, whole_x;
};

}  // namespace infini
