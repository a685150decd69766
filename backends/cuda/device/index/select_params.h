// Of argwhere and masked_select.
#pragma once

#include "places.h"

namespace infini {

struct SelectParams {
    const void *data, *tested;
    uint64_t *counts;  // of each piece; then of those before it
    void *out;
    Places<2> places;    // in what is given out and in what is tested
    uint64_t low, high;  // bits that tell that an element counts
    int64_t size[8];     // of the dimensions, for coordinates
    int32_t ndim;
};

}  // namespace infini
