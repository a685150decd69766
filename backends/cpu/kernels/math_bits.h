// Decomposition and manipulation of floats by their bits, and divisors of integers.
#pragma once

#include <numeric>

#include "math_basic.h"

namespace infini::cpu {

// ---- Floats -------------------------------------------------------------------------------------

namespace detail {
// Bits of the fraction, the mask of the exponent, and the exponent of numbers in [0.5, 1).
template <class V>
inline constexpr int kFraction = kFloats<V> ? 23 : 52;
template <class V>
inline constexpr Element<Bits<V>> kExponent = kFloats<V> ? 0xff : 0x7ff;
template <class V>
inline constexpr Element<Bits<V>> kHalf = kFloats<V> ? 126 : 1022;

// Denormals are normalised; zero, infinities and NaN are not decomposed.
template <class V>
struct FloatParts {
    V scaled;
    Mask<V> tiny, plain;
};
template <class V>
INFINI_SIMD FloatParts<V> float_parts(V x) {
    using Limits = std::numeric_limits<Element<V>>;
    const V size = absolute(x);
    const auto tiny = size < broadcast<V>(Limits::min());
    const V scaled = select(tiny, x * Element<V>(uint64_t(1) << kFraction<V>), x);
    const auto plain = (size > V{}) & (size < broadcast<V>(Limits::infinity()));
    return {scaled, tiny, Mask<V>(plain)};
}
}  // namespace detail

template <class V>
INFINI_SIMD Mask<V> signbit(V x) {
    if constexpr (detail::kIntegers<V>)
        return x < V{};
    else
        return bits(x) < Bits<V>{};
}

// x = mantissa * 2^exponent with a mantissa in [0.5, 1).
template <class V>
INFINI_SIMD V mantissa(V x) {
    constexpr auto kMask = detail::kExponent<V> << detail::kFraction<V>;
    const auto [scaled, tiny, plain] = detail::float_parts(x);
    const Bits<V> y = (bits(scaled) & ~kMask) | (detail::kHalf<V> << detail::kFraction<V>);
    return select(plain, as<V>(y), x);
}
template <class V>
INFINI_SIMD V exponent(V x) {
    constexpr auto kMask = detail::kExponent<V>, kBias = detail::kHalf<V>;
    constexpr int kShift = detail::kFraction<V>;
    const auto [scaled, tiny, plain] = detail::float_parts(x);
    const Bits<V> y = ((bits(scaled) >> kShift) & kMask) - kBias;
    const V found = cast<V>(y) - select(tiny, broadcast<V>(kShift), V{});
    return select(plain, found, V{});
}

// The next representable number after a towards b.
template <class V>
INFINI_SIMD V nextafter(V a, V b) {
    using I = Bits<V>;
    const I one = broadcast<I>(1), up = select((a < b) == (a > V{}), one, I(-one));
    const V least = as<V>(I((bits(b) & detail::kSign<V>) | one));
    const V y = select(a == V{}, least, as<V>(I(bits(a) + up)));
    return select(a == b, b, select((a != a) | (b != b), a + b, y));
}

// ---- Integers -----------------------------------------------------------------------------------

namespace detail {
template <class T>
INFINI_SIMD std::make_unsigned_t<T> size_of(T x) {
    using U = std::make_unsigned_t<T>;
    return x < 0 ? U(0) - U(x) : U(x);
}
template <class T>
INFINI_SIMD T lcm_integer(T p, T q) {
    const auto first = size_of(p), second = size_of(q), divisor = std::gcd(first, second);
    return divisor ? T(first / divisor * second) : T(0);
}
}  // namespace detail

template <class V>
INFINI_SIMD V gcd(V a, V b) {
    using T = Element<V>;
    return each(a, b, [](T p, T q) { return T(std::gcd(detail::size_of(p), detail::size_of(q))); });
}
template <class V>
INFINI_SIMD V lcm(V a, V b) {
    return each(a, b, [](auto p, auto q) { return detail::lcm_integer(p, q); });
}

}  // namespace infini::cpu
