// Of fp8_indexer_quant.
#pragma once

#include "divide.h"

namespace infini {

struct IndexerQuantParams {
    uint8_t *out;
    float *weights_out;
    const void *q, *weights;
    int64_t rows, vectors;  // of a row
    int32_t whole;
};

}  // namespace infini
