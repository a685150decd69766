// The kind of fold of an operator, numbered as in device/index/fold.cuh.
#pragma once

#include "kernel.h"

namespace infini::cuda {

enum Fold { kAssign, kAdd, kMultiply, kMost, kLeast };

struct Reduction {
    Fold fold = kAdd;
    bool mean = false;
    bool include_self = true;
};

// infiniopScatterReduction_t for a dtype.
inline Reduction reduction_of(int dtype, int64_t reduce, bool include_self) {
    constexpr Fold kFolds[] = {kAdd, kMultiply, kAdd, kMost, kLeast};
    // For booleans: any, all.
    constexpr Fold kBooleans[] = {kMost, kLeast, kLeast, kMost, kLeast};
    constexpr int64_t kMean = 2;
    const bool boolean = dtype == INFINI_DTYPE_BOOL;
    return {(boolean ? kBooleans : kFolds)[reduce], reduce == kMean && !boolean, include_self};
}

inline void describe(Source &source, int dtype, const Reduction &reduction) {
    source.type("T", dtype).constant("kFold", reduction.fold).constant("kMean", reduction.mean);
    source.constant("kIncludeSelf", reduction.include_self);
}

}  // namespace infini::cuda
