// Of pad and roll; strides are in bytes.
#pragma once

#include "places.h"

namespace infini {

enum class Beyond : int32_t { kConstant, kReflect, kReplicate, kCircular };

struct MovedDim {
    int64_t size, to;         // of the output, in words: elements of the innermost one with kPack
    int64_t before;           // elements of the output before the input's; negative: left out
    int64_t from_size, from;  // of the input
    Divider divider;
};

struct MovedParams {
    void *to;
    const void *from;
    double value;
    int64_t count;    // words
    MovedDim dim[8];  // the innermost one first
    int32_t ndim, large;
    Beyond mode;
    int32_t whole;  // both sides are aligned for words
};

}  // namespace infini
