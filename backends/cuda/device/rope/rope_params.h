// Of rope and mrope. Strides in elements.
#pragma once

#include "places.h"

namespace infini {

struct RopeParams {
    void *y;
    const void *x, *positions, *sin, *cos;
    Places<4> vectors;   // of y, x and the positions; and the number of the first angle
    int64_t half, rows;  // angles of a token; rows of the tables
    int32_t whole;       // vectors are aligned
};

// Queries and keys, whose heads stand side by side.
struct MropeParams {
    void *y[2];
    const void *x[2];
    const void *cos, *sin, *positions;
    int64_t y_token[2], x_token[2];
    int64_t cos_row, cos_step, sin_row, sin_step, rows;
    int64_t positions_axis, positions_token;
    int64_t tokens, head_size, half;
    int64_t section_t, section_h, section_w;
    Divider vectors, heads;  // of a head: of pairs, then of what is copied; of both
    int32_t rotated;         // vectors of pairs
    int32_t queries;         // heads
    int32_t interleaved;
    int32_t whole;
};

}  // namespace infini
