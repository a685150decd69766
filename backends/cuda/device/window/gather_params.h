// Gather programs: what a definition can ask for, and the walk over the outputs. See
// spec/operators/language/gather.py. The functions that generated text calls are for host and
// device.
#pragma once

#include "divide.h"

#ifndef INFINI_DEVICE
#include <bit>
#include <cmath>
#endif

namespace infini {

struct Gather {
    static constexpr int kInputs = 2, kDims = 8, kAttributes = 8, kItems = 16;
    int64_t extent[kDims];  // of the output
    int64_t size[kInputs][kDims], stride[kInputs][kDims];
    int64_t integer[kAttributes], item[kAttributes][kItems], count[kAttributes];
    double number[kAttributes];
    int32_t wide[kInputs];  // an index tensor of I64
};

// A dimension of the walk: a carried dimension, or a coordinate.
struct GatherDim {
    int64_t size, out, in[Gather::kInputs];  // strides in elements
    Divider by;                              // the size, of fewer than 2^31 outputs
};

struct GatherParams {
    static constexpr int kMost = 16;
    void *y;
    const void *x[Gather::kInputs];
    Gather gather;
    GatherDim dims[kMost];  // the innermost one first
    int64_t count;          // outputs
};

namespace gathered {

INFINI_BOTH int64_t add(int64_t a, int64_t b) { return a + b; }
INFINI_BOTH int64_t sub(int64_t a, int64_t b) { return a - b; }
INFINI_BOTH int64_t mul(int64_t a, int64_t b) { return a * b; }
INFINI_BOTH double add(double a, double b) { return a + b; }
INFINI_BOTH double sub(double a, double b) { return a - b; }
INFINI_BOTH double mul(double a, double b) { return a * b; }
INFINI_BOTH float add(float a, float b) { return a + b; }
INFINI_BOTH float sub(float a, float b) { return a - b; }
INFINI_BOTH float mul(float a, float b) { return a * b; }

// Towards minus infinity; by 0: 0.
INFINI_BOTH int64_t floordiv(int64_t a, int64_t b) {
    if (b == 0) return 0;
    const int64_t q = a / b;
    return q - (q * b != a && (a < 0) != (b < 0));
}
INFINI_BOTH int64_t mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }

template <class V>
INFINI_BOTH bool less(V a, V b) {
    return a < b;
}
template <class V>
INFINI_BOTH bool less_equal(V a, V b) {
    return a <= b;
}
template <class V>
INFINI_BOTH bool equal(V a, V b) {
    return a == b;
}
// A NaN wins.
template <class V>
INFINI_BOTH V maximum(V a, V b) {
    return a > b || a != a ? a : b;
}
template <class V>
INFINI_BOTH V minimum(V a, V b) {
    return a < b || a != a ? a : b;
}

#ifdef INFINI_DEVICE
INFINI_DEVICE double floor(double x) { return ::floor(x); }
INFINI_DEVICE double power(double x, double y) { return ::pow(x, y); }
INFINI_DEVICE float power(float x, float y) { return float(::pow(double(x), double(y))); }
#else
inline double floor(double x) { return std::floor(x); }
#endif

INFINI_BOTH double binomial(double n, double k) {
    double result = 1;
    for (double i = 1; i <= k; ++i) result = result * (n - k + i) / i;
    return result;
}

}  // namespace gathered
}  // namespace infini
