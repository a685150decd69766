// Quotients and remainders of vectors of narrow integers and of doubles, by divisions of floats.
#pragma once

#include "math_double.h"

namespace infini::cpu {
namespace detail {

// Integers that floats or doubles hold with bits to spare: a quotient is never rounded to a whole
// number that it does not reach.
template <class V>
concept NarrowIntegers = kIsVector<V> && kIntegers<V> &&
                         (sizeof(Element<V>) == 1 || std::is_same_v<Element<V>, int32_t>);

// Applies f(dividend, divisor, quotient) to vectors of floats; the result is 0 for a divisor of 0.
template <class V, class F>
INFINI_SIMD V with_quotients(V a, V b, F f) {
    using T = Element<V>;
    using Wide = std::conditional_t<sizeof(T) == 1, F32, F64>;
    using Part = Like<Wide, T>;
    using Whole = Like<Wide, int32_t>;
    constexpr size_t kParts = sizeof(V) / sizeof(Part);
    Part parts[2][kParts];
    std::memcpy(parts[0], &a, sizeof a);
    std::memcpy(parts[1], &b, sizeof b);
    auto wide = [](Part p) { return cast<Wide>(cast<Whole>(p)); };
#pragma GCC unroll 1
    for (size_t i = 0; i < kParts; ++i) {
        const Wide p = wide(parts[0][i]), q = wide(parts[1][i]);
        const Wide y = select(q == Wide{}, Wide{}, f(p, q, Wide(p / q)));
        parts[0][i] = cast<Part>(cast<Whole>(y));
    }
    std::memcpy(&a, parts[0], sizeof a);
    return a;
}

}  // namespace detail

template <detail::NarrowIntegers V>
INFINI_SIMD V floordiv(V a, V b) {
    return detail::with_quotients(a, b, [](auto, auto, auto quotient) {
        const auto y = floor(quotient);
        const auto most = broadcast<decltype(floor(quotient))>(0x1p31f);
        return select(y == most, -most, y);  // the smallest integer divided by -1 wraps
    });
}
template <detail::NarrowIntegers V>
INFINI_SIMD V mod(V a, V b) {
    return detail::with_quotients(
        a, b, [](auto p, auto q, auto quotient) { return p - floor(quotient) * q; });
}
template <detail::NarrowIntegers V>
INFINI_SIMD V fmod(V a, V b) {
    return detail::with_quotients(
        a, b, [](auto p, auto q, auto quotient) { return p - trunc(quotient) * q; });
}

// ---- Doubles ------------------------------------------------------------------------------------

namespace detail {
template <class V>
concept Doubles = kDoubles<V>;

// Whether the integer parts of all quotients are exact, or too large by 1 because the quotient was
// rounded up to an integer.
template <Doubles V>
INFINI_SIMD bool exact_quotients(V a, V b) {
    const V size = absolute(b);
    return all((absolute(a) < size * 0x1p51) &
               (size <= broadcast<V>(std::numeric_limits<double>::max())));
}

// The remainder with the sign of a. It is a multiple of the smallest bit of b, hence exact.
template <Doubles V>
INFINI_SIMD V fmod_exact(V a, V b) {
    const V r = fma(-trunc(V(a / b)), b, a);
    const auto beyond = (r != V{}) & ((r < V{}) != (a < V{}));
    return copysign(select(beyond, r + copysign(b, a), r), a);
}
}  // namespace detail

template <detail::Doubles V>
INFINI_SIMD V floordiv(V a, V b) {
    if (__builtin_expect(detail::exact_quotients(a, b), 1)) {
        const V y = floor(V(a / b)), r = fma(-y, b, a);
        const auto beyond = (r != V{}) & ((r < V{}) != (b < V{}));
        return select(beyond, y - 1.0, y);
    }
    return each(a, b, [](double p, double q) { return detail::floordiv_float(p, q); });
}
template <detail::Doubles V>
INFINI_SIMD V mod(V a, V b) {
    if (__builtin_expect(detail::exact_quotients(a, b), 1)) {
        const V r = detail::fmod_exact(a, b);
        const V y = select((r < V{}) != (b < V{}), r + b, r);
        return select(r == V{}, copysign(V{}, b), y);
    }
    return each(a, b, [](double p, double q) { return detail::mod_float(p, q); });
}
template <detail::Doubles V>
INFINI_SIMD V fmod(V a, V b) {
    if (__builtin_expect(detail::exact_quotients(a, b), 1)) return detail::fmod_exact(a, b);
    return each(a, b, [](double p, double q) { return std::fmod(p, q); });
}

}  // namespace infini::cpu
