// What the kernels around products are told. For host and device.
#pragma once

#ifndef INFINI_DEVICE
#include <cstdint>
#endif

namespace infini {

// A dense run of elements.
struct ConvertParams {
    void *to;
    const void *from;  // null: an identity matrix
    int64_t count, side;
};

// Rows of images' features.
struct BiasRowsParams {
    void *to;
    const float *from;
    const void *bias;
    int32_t columns;
    uint32_t features;
    int32_t vector;  // rows are whole runs of 4, and aligned
};

// Rows of a feed-forward block.
struct NormRowsParams {
    void *to;  // dense
    const void *from, *weight;
    int64_t columns, from_row;
    float epsilon;
};
struct GateRowsParams {
    void *to;          // [rows, columns]
    const void *from;  // [rows, columns], or gates and ups [rows, 2 columns]
    int64_t rows, columns;
    int kind;             // infiniopFusedMoeActivation_t
    const float *scales;  // of the rows; may be null
    const int *order;     // where a row's scale is; null: at the row
    const int *count;     // how many rows there are, if only the device knows; else null
};

}  // namespace infini
