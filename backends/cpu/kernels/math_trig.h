// Trigonometric functions and their inverses. Arguments up to 2^16 (2^19 for doubles) are reduced
// by a multiple of pi given in three parts; larger ones, which are rare, use libm, and so do all
// arguments where fma() rounds twice.
#pragma once

#include "math_bits.h"
#include "math_double.h"

namespace infini::cpu {

namespace detail {
constexpr float kPi = 0x1.921fb6p1f, kPiLow = -0x1.777a5cp-24f;  // to nearest, and the remainder
// Pi split after every 24 bits, so that all parts are positive and a zero keeps its sign.
constexpr float kPi1 = 0x1.921fb4p+1f, kPi2 = 0x1.4442d0p-23f, kPi3 = 0x1.846988p-47f;
constexpr float kTrigLimit = 0x1p16f;

// x - n * step * pi. The first product and difference are exact.
template <class V>
INFINI_SIMD V minus_pi(V x, V n, float step) {
    V r = fma(n, broadcast<V>(-step * kPi1), x);
    r = fma(n, broadcast<V>(-step * kPi2), r);
    return fma(n, broadcast<V>(-step * kPi3), r);
}

// The sine for |r| < pi / 2. The coefficients were tested: no result exceeds 1.
template <class V>
INFINI_SIMD V sin_reduced(V r) {
    constexpr float kC[] = {0x1.110ebcp-7f, -0x1.9f7052p-13f, 0x1.5dbbc6p-19f};
    V z = r * r, p = fma(z, polynomial(z, kC), broadcast<V>(-0x1.555548p-3f));
    return fma(r * z, p, r);
}

// Changes the sign where n, in the lowest bit of t, is odd.
template <class V>
INFINI_SIMD V with_parity(V y, V t) {
    return as<V>(Bits<V>(bits(y) ^ as<Bits<V>>(as<Like<V, uint32_t>>(t) << 31)));
}

// y, but libm's result in lanes beyond the limit (including NaN).
template <class V, class F>
INFINI_SIMD V beyond_limit(V x, V y, F f, Element<V> limit = kTrigLimit) {
    const auto inside = absolute(x) <= broadcast<V>(limit);
    if (__builtin_expect(all(inside), 1)) return y;
    return select(inside, y, in_double(x, f));
}

// The sine of x - shift pi for doubles up to 2^19: 33-bit parts of pi times n are exact.
template <class D>
INFINI_SIMD D sin_double(D x, double shift) {
    constexpr double kC[] = {-0x1.5555555555555p-3,  0x1.1111111111107p-7,   -0x1.a01a01a018aaep-13,
                             0x1.71de3a54567bap-19,  -0x1.ae6455a1daedep-26, 0x1.6124015beb3cap-33,
                             -0x1.ae5138bc80eaep-41, 0x1.89a480931f516p-49};
    const D rounder = broadcast<D>(0x1.8p52);
    const D t = fma(x, broadcast<D>(0x1.45f306dc9c883p-2), broadcast<D>(-shift)) + rounder;
    const D n = t - rounder + shift;
    D r = fma(n, broadcast<D>(-0x1.921fb544p+1), x);
    r = fma(n, broadcast<D>(-0x1.0b4611a6p-33), r);
    r = fma(n, broadcast<D>(-0x1.3198a2e037073p-68), r);
    const D z = r * r, y = fma(r * z, polynomial(z, kC), r);
    return as<D>(Bits<D>(bits(y) ^ as<Bits<D>>(as<Like<D, uint64_t>>(t) << 63)));
}

// The tangent for floats up to 2^16, from r = x - n pi / 2 as a sum of two floats: near poles and
// zeros the rounding error of a single one would be too large.
template <class V>
INFINI_SIMD V tan_float(V x) {
    constexpr float kC[] = {0x1.555562p-2f, 0x1.110d24p-3f,   0x1.baee0cp-5f, 0x1.5bf664p-6f,
                            0x1.66d0e4p-7f, -0x1.d45c8cp-15f, 0x1.238772p-8f};
    const V rounder = broadcast<V>(0x1.8p23f), half_pi2 = broadcast<V>(kPi2 / 2);
    const V t = fma(x, broadcast<V>(0x1.45f306p-1f), rounder), n = t - rounder;
    const V first = fma(n, broadcast<V>(-kPi1 / 2), x), p = n * half_pi2;
    const V r = first - p, back = r - first;
    V low = (first - (r - back)) - (p + back);  // the rounding error of r
    low = fma(n, broadcast<V>(-kPi3 / 2), low - fma(n, half_pi2, -p));
    // tan(r + low) = r + rest, as y and what its rounding lost. The cube has a low part, too.
    const V z = r * r, cube = r * z, cube_low = fma(r, fma(r, r, -z), fma(r, z, -cube));
    const V one = broadcast<V>(1), slope = fma(z, fma(z, one, one), one);  // about 1 + y^2
    const V q = polynomial(z, kC), rest = fma(cube, q, fma(cube_low, q, low * slope));
    const V y = r + rest, lost = (r - y) + rest;
    const V inverse = -inverse_near(y);
    const V cotangent = fma(inverse, fma(inverse, lost, fma(inverse, y, one)), inverse);
    const auto odd = (as<Bits<V>>(t) & 1) != Bits<V>{};
    return select(odd, cotangent, y);
}

// The tangent for doubles to the precision of float: in float, r would lose too many bits.
template <class D>
INFINI_SIMD D tan_wide(D x) {
    constexpr double kSin[] = {1, -0x1.555544p-3, 0x1.1106c6p-7, -0x1.991c26p-13};
    constexpr double kCos[] = {1, -0.5, 0x1.55554ap-5, -0x1.6c0c22p-10, 0x1.99e526p-16};
    D n = nearest(x * 0x1.45f306dc9c883p-1);
    D r = x - n * 0x1.921fb544p0 - n * 0x1.0b4611a626331p-34, z = r * r;
    D s = r * polynomial(z, kSin), c = polynomial(z, kCos);
    auto odd = nearest(n * 0.5) != n * 0.5;
    return select(odd, -c, s) / select(odd, s, c);
}

// Pi in V's element type, and the remainder.
template <class V>
inline constexpr Element<V> kPiOf = Element<V>(0x1.921fb54442d18p+1);
template <class V>
inline constexpr Element<V> kPiRest = kFloats<V> ? Element<V>(kPiLow) : 0x1.1a62633145c07p-53;
template <class V>
inline constexpr bool kArcs = kFloats<V> || kDoubles<V>;

// asin s = s + s^3 p(s^2) for 0 <= s <= 1/2.
template <class V>
INFINI_SIMD V asin_factor(V z) {
    if constexpr (kDoubles<V>) {
        constexpr double kC[] = {0x1.5555555555556p-3, 0x1.3333333332ecap-4, 0x1.6db6db6e31f13p-5,
                                 0x1.f1c71c1db0623p-6, 0x1.6e8bb1c8209a2p-6, 0x1.1c4d35cf95421p-6,
                                 0x1.c9cf07674736ap-7, 0x1.782651caa6547p-7, 0x1.52420b04b37bep-7,
                                 0x1.65a9c4dfcf8b2p-8, 0x1.1d189408314eep-6, -0x1.e6aaa8a0a04ccp-7,
                                 0x1.d72b2bc8155f8p-6};
        return polynomial(z, kC);
    } else {
        constexpr float kC[] = {0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bb8p-5f, 0x1.8c3e5p-6f,
                                0x1.595c6p-5f};
        return polynomial(z, kC);
    }
}
}  // namespace detail

template <class V>
INFINI_SIMD V sin(V x) {
    constexpr auto libm = [](double lane) { return std::sin(lane); };
    if constexpr (detail::kFloats<V> && kFma) {
        const V rounder = broadcast<V>(0x1.8p23f);
        V t = fma(x, broadcast<V>(0x1.45f306p-2f), rounder);
        V y = detail::sin_reduced(detail::minus_pi(x, t - rounder, 1));
        y = select(x == V{}, x, detail::with_parity(y, t));  // -0 stays
        return detail::beyond_limit(x, y, libm);
    } else if constexpr (std::is_same_v<V, F64> && kFma) {
        const V y = select(x == V{}, x, detail::sin_double(x, 0));
        return detail::beyond_limit(x, y, libm, 0x1p19);
    } else {
        return detail::in_double(x, libm);
    }
}

template <class V>
INFINI_SIMD V cos(V x) {
    constexpr auto libm = [](double lane) { return std::cos(lane); };
    if constexpr (detail::kFloats<V> && kFma) {
        // The sine of x + pi / 2: n is an integer plus a half.
        const V rounder = broadcast<V>(0x1.8p23f), half = broadcast<V>(0.5f);
        V t = fma(x, broadcast<V>(0x1.45f306p-2f), half) + rounder;
        V y = detail::sin_reduced(detail::minus_pi(x, t - rounder - half, 1));
        return detail::beyond_limit(x, detail::with_parity(y, t), libm);
    } else if constexpr (std::is_same_v<V, F64> && kFma) {
        return detail::beyond_limit(x, detail::sin_double(x, -0.5), libm, 0x1p19);
    } else {
        return detail::in_double(x, libm);
    }
}

template <class V>
INFINI_SIMD V tan(V x) {
    constexpr auto libm = [](double lane) { return std::tan(lane); };
    if constexpr (detail::kFloats<V> && kFma) {
        return detail::beyond_limit(x, select(x == V{}, x, detail::tan_float(x)), libm);
    } else if constexpr (detail::kFloats<V>) {
        V y = detail::in_wide(x, [](auto wide) { return detail::tan_wide(wide); });
        return detail::beyond_limit(x, select(x == V{}, x, y), libm);
    } else if constexpr (detail::kDoubles<V>) {
        const V y = detail::sin_double(x, 0) / detail::sin_double(x, -0.5);
        return detail::beyond_limit(x, select(x == V{}, x, y), libm, 0x1p19);
    } else {
        return detail::in_double(x, libm);
    }
}

template <class V>
INFINI_SIMD V asin(V x) {
    if constexpr (detail::kArcs<V>) {
        // Above 1/2: asin x = pi / 2 - 2 asin sqrt((1 - x) / 2).
        V a = absolute(x);
        auto small = a < broadcast<V>(0.5f);
        V z = select(small, x * x, (1.0f - a) * 0.5f);
        V s = select(small, a, sqrt(z)), cube = s * z, p = detail::asin_factor(z);
        V rest = fma(cube * -2.0f, p, broadcast<V>(detail::kPiRest<V> / 2));
        V large = fma(s, broadcast<V>(-2.0f), broadcast<V>(detail::kPiOf<V> / 2)) + rest;
        return copysign(select(small, fma(cube, p, s), large), x);
    } else {
        return detail::in_double(x, [](double lane) { return std::asin(lane); });
    }
}

template <class V>
INFINI_SIMD V acos(V x) {
    if constexpr (detail::kArcs<V>) {
        V a = absolute(x);
        auto small = a < broadcast<V>(0.5f), negative = x < V{};
        V z = select(small, x * x, (1.0f - a) * 0.5f);
        V s = select(small, x, sqrt(z)), y = fma(s * z, detail::asin_factor(z), s);
        V middle = broadcast<V>(detail::kPiOf<V> / 2) - (y - detail::kPiRest<V> / 2);
        V near = y + y, far = broadcast<V>(detail::kPiOf<V>) - (near - detail::kPiRest<V>);
        return select(small, middle, select(negative, far, near));
    } else {
        return detail::in_double(x, [](double lane) { return std::acos(lane); });
    }
}

namespace detail {
// atan(top / bottom) + base for |top / bottom| <= 0.42, where base is a multiple of pi / 4.
template <class V>
INFINI_SIMD V atan_from(V base, V top, V bottom) {
    V t = top / bottom, z = t * t, low = base * (kPiRest<V> / kPiOf<V>);
    auto sum = [&](const auto &c) { return base + (t + fma(t * z, polynomial(z, c), low)); };
    if constexpr (kDoubles<V>) {
        constexpr double kC[] = {
            -0x1.5555555555555p-2, 0x1.9999999999953p-3,  -0x1.249249248d7cap-3,
            0x1.c71c71c30300bp-4,  -0x1.745d165d9ee17p-4, 0x1.3b1392d04b71cp-4,
            -0x1.110e875de57ebp-4, 0x1.e19a0439b3b4bp-5,  -0x1.ac7a216389ddfp-5,
            0x1.74dbcb5c2167ap-5,  -0x1.1b2e7e3386b79p-5, 0x1.0ac7d2dc4c828p-6};
        return sum(kC);
    } else {
        constexpr float kC[] = {-0x1.555548p-2f, 0x1.9991p-3f, -0x1.23a98ep-3f, 0x1.b13a66p-4f,
                                -0x1.ee4b32p-5f};
        return sum(kC);
    }
}
}  // namespace detail

template <class V>
INFINI_SIMD V atan(V x) {
    if constexpr (detail::kArcs<V>) {
        // atan a = pi/4 + atan((a - 1) / (a + 1)) = pi/2 + atan(-1 / a): the argument stays small.
        const V one = broadcast<V>(1);
        V a = absolute(x);
        auto middle = a > broadcast<V>(0x1.a8279ap-2f), large = a > broadcast<V>(0x1.3504f4p1f);
        V top = select(large, -one, select(middle, a - 1.0f, a));
        V bottom = select(large, a, select(middle, a + 1.0f, one));
        V base = select(large, broadcast<V>(detail::kPiOf<V> / 2),
                        select(middle, broadcast<V>(detail::kPiOf<V> / 4), V{}));
        return copysign(detail::atan_from(base, top, bottom), x);
    } else {
        return detail::in_double(x, [](double lane) { return std::atan(lane); });
    }
}

template <class V>
INFINI_SIMD V atan2(V y, V x) {
    if constexpr (detail::kArcs<V>) {
        // The arctangent of the smaller magnitude over the larger, moved to the right octant.
        const V zero{}, one = broadcast<V>(1);
        V a = absolute(y), b = absolute(x);
        auto steep = a > b, left = signbit(x);
        V low = select(steep, b, a), high = select(steep, a, b);
        constexpr bool kFloat = detail::kFloats<V>;
        const V huge = broadcast<V>(Element<V>(kFloat ? 0x1p126 : 0x1p1022));
        const V tiny = broadcast<V>(Element<V>(kFloat ? 0x1p-100 : 0x1p-900));
        const V up = broadcast<V>(Element<V>(kFloat ? 0x1p30 : 0x1p60));
        V scale = select(high > huge, broadcast<V>(0.25f), one);
        scale = select(high < tiny, up, scale);
        auto alike = (low == high) & (high > zero);  // including infinities
        low = select(alike, one, low * scale);
        high = select(alike | (high == zero), one, high * scale);
        auto middle = low > high * 0x1.a8279ap-2f;
        V top = select(middle, low - high, low), bottom = select(middle, low + high, high);
        V base = select(middle, broadcast<V>(detail::kPiOf<V> / 4), zero);
        base = select(steep, broadcast<V>(detail::kPiOf<V> / 2) - base, base);
        base = select(left, broadcast<V>(detail::kPiOf<V>) - base, base);
        top = select(steep, -top, top);
        top = select(left, -top, top);
        V angle = detail::atan_from(base, top, bottom);
        return copysign(select((y != y) | (x != x), x + y, angle), y);
    } else {
        return detail::in_double(y, x, [](double p, double q) { return std::atan2(p, q); });
    }
}

}  // namespace infini::cpu
