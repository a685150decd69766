// Of combine: elements of all ranks, a part of each.
#pragma once

#include "divide.h"

namespace infini {

enum CombineOp { kCombineSum, kCombineProduct, kCombineMax, kCombineMin, kCombineAverage };

struct CombineRanksParams {
    void *to;
    const void *from;  // `ranks` parts of `count` elements, one after the other
    int64_t count;
    int32_t ranks, op;
};

}  // namespace infini
