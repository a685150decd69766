// Parameters of counter-based random numbers and of sampling.
#pragma once

#include "places.h"

namespace infini {

struct RandomParams {
    void *out;
    uint64_t seed, offset;
    Places<1> places;
    double low, span;      // uniform; mean and standard deviation
    int64_t first, range;  // for integers
    int32_t dense, whole;  // elements are contiguous, and aligned
};

struct Choice {
    float random, topp, temperature;
    int32_t topk;
};

struct SampleParams {
    static constexpr int kRows = 128;  // per launch
    void *result;
    const void *logits;
    int64_t size, row, step, result_step;
    int64_t first;  // row
    Choice choice[kRows];
    int32_t same;  // all rows use the first parameters
};

}  // namespace infini
