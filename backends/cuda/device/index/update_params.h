// Of index_add, index_reduce and index_copy: output and input [outer, rows, inner], source
// [outer, entries, inner], all dense.
#pragma once

#include "divide.h"

namespace infini {

struct UpdateKeysParams {
    const void *index;
    uint32_t *keys;  // the row of each entry; `rows`: none
    int32_t *last;   // the last entry of each row
    int64_t entries, step, rows;
};

struct UpdateParams {
    void *out;
    const void *in, *source;
    const uint32_t *first, *order;  // the entries of each row, one row after the other
    const int32_t *last;
    int64_t outer, rows, entries, inner;  // inner in vectors, or words
    double factor;                        // of the source's elements
    int32_t whole;                        // vectors are aligned
    int32_t across_bits;                  // 2^this threads of 256 stand side by side
};

}  // namespace infini
