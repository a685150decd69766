// Every function of spec/operators/language/expression.py under its name (except bitwise functions,
// whose names are reserved in C++), where V is float, double, int64_t, uint64_t or int32_t.
// Functors of programs call these; the vector counterpart is backends/cpu/kernels/functions.h.
//
// A source that defines INFINI_ROUGH only has tensors of 16 bits or fewer. Functions may then have
// an error of a few units in the last place of a float, which rounding to such a tensor hides. If
// it is 2, divisors are never so small that their reciprocals overflow.
#pragma once

#define INFINI_SIMD INFINI_DEVICE
#ifndef NAN
#define NAN __int_as_float(0x7fc00000)
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

namespace infini {

#ifdef INFINI_ROUGH
inline constexpr bool kRough = true, kRoughDivision = INFINI_ROUGH == 2;
#else
inline constexpr bool kRough = false, kRoughDivision = false;
#endif

template <class V>
using Unsigned = Choose<sizeof(V) == 4, uint32_t, uint64_t>;
template <class V>
using Signed = Choose<sizeof(V) == 4, int32_t, int64_t>;

template <class V, class T>
INFINI_DEVICE V constant(T value) {
    return V(value);
}

}  // namespace infini

#include "math_basic.cuh"
#include "math_exp.cuh"
#include "math_special.cuh"
