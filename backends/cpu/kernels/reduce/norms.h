// p-norms of differences: the terms, and the final function of the sum.
#pragma once

#include <cmath>

#include "functions.h"

namespace infini::cpu {

enum class Norm { zero, one, two, infinity, power };

inline Norm norm_of(double p) {
    if (p == 0) return Norm::zero;
    if (p == 1) return Norm::one;
    if (p == 2) return Norm::two;
    return std::isinf(p) ? Norm::infinity : Norm::power;
}

// total + |a - b|^p, or the maximum of both. For scalars and vectors.
template <Norm norm, class V>
INFINI_SIMD V accumulate(V total, V a, V b, Element<V> p) {
    const V d = a - b;
    if constexpr (norm == Norm::two) return fma(d, d, total);
    const V size = absolute(d);
    if constexpr (norm == Norm::zero) {  // NaN propagates
        const V one = select(size > broadcast<V>(Element<V>(1e-10)), broadcast<V>(1), V{});
        return total + select(size != size, size, one);
    }
    if constexpr (norm == Norm::one) return total + size;
    if constexpr (norm == Norm::infinity) return maximum(total, size);
    return total + power(size, broadcast<V>(p));
}

// Combines two totals.
template <class T>
inline T join(Norm norm, T a, T b) {
    return norm == Norm::infinity ? maximum(a, b) : a + b;
}
template <Norm norm, class V>
INFINI_SIMD Element<V> join_lanes(V total) {
    if constexpr (norm == Norm::infinity)
        return reduce_max(total);
    else
        return reduce_add(total);
}

template <class T>
inline T finish(Norm norm, T total, T p) {
    if (norm == Norm::two) return std::sqrt(total);
    return norm == Norm::power ? std::pow(total, 1 / p) : total;
}

// Calls f with the norm as a constant.
template <class F>
inline void visit_norm(Norm norm, F &&f) {
    switch (norm) {
        case Norm::zero:
            return f(std::integral_constant<Norm, Norm::zero>{});
        case Norm::one:
            return f(std::integral_constant<Norm, Norm::one>{});
        case Norm::two:
            return f(std::integral_constant<Norm, Norm::two>{});
        case Norm::infinity:
            return f(std::integral_constant<Norm, Norm::infinity>{});
        case Norm::power:
            return f(std::integral_constant<Norm, Norm::power>{});
    }
}

}  // namespace infini::cpu
