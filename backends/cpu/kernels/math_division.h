// Quotients and remainders of vectors of integers and of doubles, by divisions of floats, and
// divisors of integers.
#pragma once

#include "math_bits.h"
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

// ---- Wide integers ------------------------------------------------------------------------------

namespace detail {
template <class V>
concept WideIntegers = kIsVector<V> && kIntegers<V> && sizeof(Element<V>) == 8;

// Whether all numbers are so far below 2^53 that adding them to a double gives their bits, and that
// no quotient is rounded to a whole number that it does not reach.
template <WideIntegers V>
INFINI_SIMD bool fit_doubles(V a, V b) {
    if constexpr (std::is_signed_v<Element<V>>) {
        a = a < V{} ? -a : a;
        b = b < V{} ? -b : b;
    }
    using U = Like<V, uint64_t>;
    return !any((as<U>(a) | as<U>(b)) >> 51 != U{});
}
template <WideIntegers V>
INFINI_SIMD F64 small_to_double(V x) {
    return as<F64>(I64(as<I64>(x) + bits(broadcast<F64>(0x1.8p52)))) - 0x1.8p52;
}
template <WideIntegers V>
INFINI_SIMD V small_from_double(F64 x) {
    return as<V>(I64(bits(F64(x + 0x1.8p52)) - bits(broadcast<F64>(0x1.8p52))));
}
// Applies f(dividend, divisor, quotient) to small integers; the result is 0 for a divisor of 0.
template <WideIntegers V, class F>
INFINI_SIMD V with_small(V a, V b, F f) {
    const F64 p = small_to_double(a), q = small_to_double(b);
    return small_from_double<V>(select(q == F64{}, F64{}, f(p, q, F64(p / q))));
}

// The position of the lowest bit that is set, for 0 < x < 2^52.
template <class U>
INFINI_SIMD U lowest_bit(U x) {
    const U lowest = x & -x;
    const F64 number = as<F64>(lowest | as<U>(broadcast<F64>(0x1p52))) - 0x1p52;
    return (as<U>(number) >> 52) - 1023;
}
// Stein's algorithm.
template <class U>
INFINI_SIMD U small_gcd(U a, U b) {
    const U one = broadcast<U>(1), either = a | b, shared = lowest_bit(either | U(either == U{}));
    const auto has_zero = (a == U{}) | (b == U{});
    U p = select(has_zero, one, a), q = select(has_zero, one, b);
    p = p >> lowest_bit(p), q = q >> lowest_bit(q);
    while (any(p != q)) {
        const U less = minimum(p, q), apart = maximum(p, q) - less;
        const auto equal = apart == U{};
        p = select(equal, less, apart >> lowest_bit(U(select(equal, one, apart))));
        q = less;
    }
    return select(has_zero, either, q << shared);
}
}  // namespace detail

template <detail::WideIntegers V>
INFINI_SIMD V floordiv(V a, V b) {
    if (__builtin_expect(detail::fit_doubles(a, b), 1))
        return detail::with_small(a, b, [](auto, auto, auto quotient) { return floor(quotient); });
    return each(a, b, [](auto p, auto q) { return detail::floordiv_integer(p, q); });
}
template <detail::WideIntegers V>
INFINI_SIMD V mod(V a, V b) {
    if (__builtin_expect(detail::fit_doubles(a, b), 1))
        return detail::with_small(
            a, b, [](auto p, auto q, auto quotient) { return p - floor(quotient) * q; });
    return each(a, b, [](auto p, auto q) { return detail::mod_integer(p, q); });
}
template <detail::WideIntegers V>
INFINI_SIMD V fmod(V a, V b) {
    using T = Element<V>;
    if (__builtin_expect(detail::fit_doubles(a, b), 1))
        return detail::with_small(
            a, b, [](auto p, auto q, auto quotient) { return p - trunc(quotient) * q; });
    return each(a, b, [](T p, T q) -> T { return q == 0 || detail::is_minus_one(q) ? 0 : p % q; });
}
template <detail::WideIntegers V>
INFINI_SIMD V gcd(V a, V b) {
    using T = Element<V>;
    using U = Like<V, uint64_t>;
    if (__builtin_expect(detail::fit_doubles(a, b), 1))
        return as<V>(detail::small_gcd(as<U>(absolute(a)), as<U>(absolute(b))));
    return each(a, b, [](T p, T q) { return T(std::gcd(detail::size_of(p), detail::size_of(q))); });
}
template <detail::WideIntegers V>
INFINI_SIMD V lcm(V a, V b) {
    if (__builtin_expect(detail::fit_doubles(a, b), 1)) {
        a = absolute(a), b = absolute(b);
        using U = Like<V, uint64_t>;
        const V quotient = floordiv(a, as<V>(detail::small_gcd(as<U>(a), as<U>(b))));
        return as<V>(U(as<U>(quotient) * as<U>(b)));
    }
    return each(a, b, [](auto p, auto q) { return detail::lcm_integer(p, q); });
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
