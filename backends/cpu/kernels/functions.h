// Every function of spec/operators/language/expression.py under its name (except bitwise functions,
// whose names are reserved in C++), where V is a vector of float, double, int32_t or int64_t, or a
// scalar of these types. Generated code calls them. Comparisons give masks: vectors of integers 0
// or -1, or bool for scalars.
#pragma once

#include "math_basic.h"
#include "math_bits.h"
#include "math_erf.h"
#include "math_exp.h"
#include "math_log.h"
#include "math_special.h"
#include "math_trig.h"
#include "simd.h"

namespace infini::cpu {

// ---- Arithmetic ---------------------------------------------------------------------------------

namespace detail {
// Integers wrap: they are computed as unsigned, where overflow is defined.
template <class V, class F>
INFINI_SIMD V wrapping(V a, V b, F f) {
    if constexpr (std::is_integral_v<Element<V>>) {
        using U = Like<V, std::make_unsigned_t<Element<V>>>;
        return as<V>(U(f(as<U>(a), as<U>(b))));
    } else {
        return f(a, b);
    }
}
}  // namespace detail

template <class V>
INFINI_SIMD V add(V a, V b) {
    return detail::wrapping(a, b, [](auto p, auto q) { return p + q; });
}
template <class V>
INFINI_SIMD V sub(V a, V b) {
    return detail::wrapping(a, b, [](auto p, auto q) { return p - q; });
}
template <class V>
INFINI_SIMD V mul(V a, V b) {
    return detail::wrapping(a, b, [](auto p, auto q) { return p * q; });
}
template <class V>
INFINI_SIMD V div(V a, V b) {
    static_assert(std::is_floating_point_v<Element<V>>, "true division gives floats");
    return a / b;
}
template <class V>
INFINI_SIMD V neg(V a) {
    if constexpr (std::is_integral_v<Element<V>>)
        return sub(V{}, a);
    else
        return -a;
}
template <class V>
INFINI_SIMD V bit_and(V a, V b) {
    return a & b;
}
template <class V>
INFINI_SIMD V bit_or(V a, V b) {
    return a | b;
}
template <class V>
INFINI_SIMD V bit_xor(V a, V b) {
    return a ^ b;
}
template <class V>
INFINI_SIMD V bit_not(V a) {
    return ~a;
}

// ---- Conditions ---------------------------------------------------------------------------------

template <class V>
INFINI_SIMD Mask<V> less(V a, V b) {
    return a < b;
}
template <class V>
INFINI_SIMD Mask<V> less_equal(V a, V b) {
    return a <= b;
}
template <class V>
INFINI_SIMD Mask<V> equal(V a, V b) {
    return a == b;
}
template <class M>
INFINI_SIMD M both(M a, M b) {
    return a & b;
}
template <class M>
INFINI_SIMD M either(M a, M b) {
    return a | b;
}
template <class M>
INFINI_SIMD M differ(M a, M b) {
    return a ^ b;
}
template <class M>
INFINI_SIMD M negate(M a) {
    if constexpr (kIsVector<M>)
        return ~a;
    else
        return !a;
}
template <class M, class V>
INFINI_SIMD V where(M condition, V a, V b) {
    return select(condition, a, b);
}
// 1 where a mask is true, else 0.
template <class V, class M>
INFINI_SIMD V number(M mask) {
    return select(mask, broadcast<V>(1), V{});
}

}  // namespace infini::cpu
