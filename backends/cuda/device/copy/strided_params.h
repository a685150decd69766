// Of copies between strided layouts; strides are in bytes.
#pragma once

#include "places.h"

namespace infini {

struct BytesCopyParams {
    void *to;
    const void *from;
    int64_t bytes;
};

struct StridedCopyParams {
    void *to;
    const void *from;
    Places<2> words;
    int64_t step;   // kPack: from one element of the source to the next
    int32_t whole;  // both sides are aligned for words
};

// Tiles of two dimensions that change their places: the rows lie side by side in the destination,
// the columns in the source.
struct TransposeParams {
    void *to;
    const void *from;
    int64_t rows, columns;
    int64_t to_step, to_column;   // from one row to the next, from one column to the next
    int64_t from_row, from_step;  // as well
    int64_t tiles;                // of one matrix
    Divider across;               // tiles along the columns
    Places<2> matrices;
    int32_t whole_to, whole_from;  // in whole words, which divide rows and columns
};

}  // namespace infini
