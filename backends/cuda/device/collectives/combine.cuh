// Reduces the elements of all ranks; each rank reduces a chunk of them.
#pragma once

#include "divide.h"

namespace infini {

enum CombineOp { kCombineSum, kCombineProduct, kCombineMax, kCombineMin, kCombineAverage };

struct CombineRanksParams {
    void *to;
    const void *from;  // `ranks` chunks of `count` elements, one after the other
    int64_t count;
    int32_t ranks, op;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// Reduces elements T of all ranks in rank order. The result is rounded once, and small integers do
// not wrap before the division. The CPU's collectives do the same.
using namespace infini;

using C = Compute<T>;

template <int kOp>
INFINI_DEVICE C combined(C a, C b) {
    if constexpr (kOp == kCombineMax) return a > b || a != a ? a : b;  // NaN propagates
    if constexpr (kOp == kCombineMin) return a < b || a != a ? a : b;
    if constexpr (kIsFloat<C>)
        return kOp == kCombineProduct ? a * b : a + b;
    else  // wraps
        return kOp == kCombineProduct ? C(uint64_t(a) * uint64_t(b)) : C(uint64_t(a) + uint64_t(b));
}

template <int kOp>
INFINI_DEVICE void combine(const CombineRanksParams &p) {
    const T *from = static_cast<const T *>(p.from);
    const int64_t step = int64_t(gridDim.x) * 256;
    for (int64_t i = int64_t(blockIdx.x) * 256 + threadIdx.x; i < p.count; i += step) {
        C result = convert<C>(from[i]);
        for (int32_t rank = 1; rank < p.ranks; ++rank)
            result = combined<kOp>(result, convert<C>(from[rank * p.count + i]));
        if constexpr (kOp == kCombineAverage) result = C(result / C(p.ranks));
        static_cast<T *>(p.to)[i] = convert<T>(result);
    }
}

INFINI_ENTRY(CombineRanksParams, 256, 1) {
    switch (p.op) {
        case kCombineSum:
            return combine<kCombineSum>(p);
        case kCombineProduct:
            return combine<kCombineProduct>(p);
        case kCombineMax:
            return combine<kCombineMax>(p);
        case kCombineMin:
            return combine<kCombineMin>(p);
        default:
            return combine<kCombineAverage>(p);
    }
}

#endif  // INFINI_DEVICE
