// Of 4- and 8-bit weights: what expands them, and what packs them anew.
#pragma once

#include "places.h"

namespace infini {

struct Mxfp4Params {
    void *out;
    const uint8_t *packed, *scales;
    Places<3>
        words;  // of 8 columns: in the output, the packed bytes, the scales' rows (at column 0)
    int32_t whole_out, whole_packed;
};

// Words of 8 columns of [rows, columns].
struct DequantizeParams {
    void *out;
    const uint32_t *weights, *zeros;
    const void *scales;
    const int32_t *group_of;
    int64_t rows, columns;  // in words
    int64_t groups, group_rows;
    int32_t whole_out, whole_scales, whole_weights;
};

struct RepackParams {
    uint32_t *out;
    const uint32_t *in;
    const int32_t *from;  // which row comes where; null: as they stand
    int64_t k, n;         // rows and columns
    int64_t words;        // of the output
};

}  // namespace infini
