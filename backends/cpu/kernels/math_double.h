// Exponentials, logarithms, the error function and its inverse for vectors of double: the
// algorithms for float with polynomials of higher degree, for machines whose fma() rounds once.
#pragma once

#include "math_basic.h"

namespace infini::cpu::detail {

// Whether the functions of this file support the vector type V.
template <class V>
inline constexpr bool kDoubles = std::is_same_v<V, F64> && kFma;

constexpr double kWideRounder = 0x1.8p52, kWideLog2E = 0x1.71547652b82fep+0;
constexpr double kWideLn2 = 0x1.62e42fefa39efp-1, kWideLn2Low = 0x1.abc9e3b39803fp-56;

// ---- Exponentials -------------------------------------------------------------------------------

// x = n ln 2 + r with |r| < 0.35; t holds n + bias in its lowest bits; q = e^r - 1.
template <class V>
struct WideReduced {
    V t, q;
};
template <class V>
INFINI_SIMD WideReduced<V> wide_expm1_reduced(V x, double bias) {
    constexpr double kC[] = {0x1.0000000000000p-1,  0x1.5555555555557p-3,  0x1.5555555555556p-5,
                             0x1.11111111100dcp-7,  0x1.6c16c16c162d4p-10, 0x1.a01a01abe7fe1p-13,
                             0x1.a01a01a6d889bp-16, 0x1.71de0231960ebp-19, 0x1.27e4db646b300p-22,
                             0x1.af4de97ca4194p-26, 0x1.1f73034961f44p-29};
    const V rounder = broadcast<V>(kWideRounder + bias);
    const V t = fma(x, broadcast<V>(kWideLog2E), rounder), n = t - rounder;
    const V r = fma(n, broadcast<V>(-kWideLn2Low), fma(n, broadcast<V>(-kWideLn2), x));
    return {t, fma(r * r, polynomial(r, kC), r)};
}

// 2^(k - 1023) for integers k in the lowest bits.
template <class V>
INFINI_SIMD V wide_exponent(Like<V, uint64_t> k) {
    return as<V>(Like<V, uint64_t>(k << 52));
}

// (y + y q) 2^n of a reduction with bias 2046, multiplied in two steps so that it does not overflow
// too early.
template <class V>
INFINI_SIMD V wide_times_exp(V y, V q, V t) {
    if constexpr (kScaled<V>) {
        return by_power(fma(y, q, y), V(t - (kWideRounder + 2046)));
    } else {
        const auto k = as<Like<V, uint64_t>>(t), half = k >> 1;
        return fma(y, q, y) * wide_exponent<V>(half) * wide_exponent<V>(k - half);
    }
}

template <class V>
INFINI_SIMD V wide_exp(V x) {
    auto [t, q] = wide_expm1_reduced(at_most(at_least(x, -746.0), 710.0), 2046);
    return wide_times_exp(broadcast<V>(1), q, t);
}

// 2^(x + low) for a low that is at most an ulp of x.
template <class V>
INFINI_SIMD V wide_exp2(V x, V low = V{}) {
    constexpr double kC[] = {0x1.ebfbdff82c590p-3,  0x1.c6b08d704a0c0p-5,  0x1.3b2ab6fba3856p-7,
                             0x1.5d87fe78a5dc1p-10, 0x1.430913037bab9p-13, 0x1.ffcbfc61f9da2p-17,
                             0x1.62bfe45469585p-20, 0x1.b525086dac128p-24, 0x1.e5ea1242d6602p-28,
                             0x1.e9bbf63fc2d10p-32};
    const V limited = at_most(at_least(x, -1077.0), 1025.0);
    const V rounder = broadcast<V>(kWideRounder + 2046), t = limited + rounder;
    const V f = limited - (t - rounder) + low;
    const V q = fma(f * f, polynomial(f, kC), f * kWideLn2);
    return wide_times_exp(broadcast<V>(1), q, t);
}

// (e^x - 1) 2^shift, for -80 < x and n + shift < 1024.
template <class V>
INFINI_SIMD V wide_expm1_scaled(V x, int shift) {
    auto [t, q] = wide_expm1_reduced(x, 1023 + shift);
    const V scale = wide_exponent<V>(as<Like<V, uint64_t>>(t));
    return fma(scale, q, scale - std::bit_cast<double>(uint64_t(1023 + shift) << 52));
}

template <class V>
INFINI_SIMD V wide_expm1(V x) {
    const V half = wide_expm1_scaled(at_most(at_least(x, -40.0), 710.0), -1);
    return select(absolute(x) < broadcast<V>(0x1p-100), x, half + half);
}

template <class V>
INFINI_SIMD V wide_sigmoid(V x) {
    auto [t, q] = wide_expm1_reduced(at_least(-absolute(x), -746.0), 2046);
    const V one = broadcast<V>(1), e = wide_times_exp(one, q, t);
    return select(x < V{}, e, one) / (one + e);
}

template <class V>
INFINI_SIMD V wide_tanh(V x) {
    const V a = at_most(absolute(x), 22.0), e = wide_expm1_scaled(a + a, 0);
    return copysign(select(a < broadcast<V>(0x1p-100), a, e / (e + 2.0)), x);
}

// Uses (e^|x| - 1) / 4, which is still finite where the result is not.
template <class V>
INFINI_SIMD V wide_sinh(V x) {
    const V a = at_most(absolute(x), 710.5), e = wide_expm1_scaled(a, -2);
    const V y = fma(e / (e + 0.25), broadcast<V>(0.5), e + e);
    return copysign(select(a < broadcast<V>(0x1p-100), a, y), x);
}
template <class V>
INFINI_SIMD V wide_cosh(V x) {
    const V e = wide_expm1_scaled(at_most(absolute(x), 710.5), -2) + 0.25;
    return e + e + 0.125 / e;
}

// ---- Logarithms ---------------------------------------------------------------------------------

// log x = k ln 2 + l - low, where l is close to 0 and low is a small correction.
template <class V>
struct WideLog {
    V k, l, low;
};
// a / b to 1.5 ulp, for b around 2: a reciprocal of 14 bits is refined where division is slow.
template <class V>
INFINI_SIMD V wide_quotient(V a, V b) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, F64>) {
        const V one = broadcast<V>(1);
        V r = V(_mm512_rcp14_pd(b));
        r = fma(fma(-b, r, one), r, r);
        return a * fma(fma(-b, r, one), r, r);
    }
#endif
    return a / b;
}
// For 2^k (1 + f) with sqrt(1/2) < 1 + f < sqrt(2).
template <class V>
INFINI_SIMD WideLog<V> wide_log_parts(V k, V f) {
    // (log((1 + s) / (1 - s)) - 2 s) / s^3
    constexpr double kC[] = {0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476cccp-2,
                             0x1.c71c720159177p-3, 0x1.745cf9048dd95p-3, 0x1.3b1c355a8f7a2p-3,
                             0x1.0fbe95d716020p-3, 0x1.0c039c49989c6p-3};
    const V s = wide_quotient(f, V(f + 2.0)), z = s * s, half = f * f * 0.5;
    return {k, f, half - s * fma(z, polynomial(z, kC), half)};
}

template <class V>
struct WideParts {
    V k, f;
};
// For 0 < x < infinity that is not denormal.
template <class V>
INFINI_SIMD WideParts<V> wide_parts(V x) {
    using U = Like<V, uint64_t>;
    constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd, kOne = 0x3ff0000000000000;
    const U u = as<U>(x), w = u - (kSqrtHalf - kOne);
    const V k = as<V>(U((w >> 52) + std::bit_cast<uint64_t>(kWideRounder)));
    return {k - (kWideRounder + 1023), as<V>(U(u - (w & 0xfff0000000000000) + kOne)) - 1.0};
}
template <class V>
INFINI_SIMD WideLog<V> wide_log_of(V x) {
    if constexpr (kScaled<V>) {
        auto [k, m] = parts_of(x);
        return wide_log_parts(k, V(m - 1.0));
    } else {
        const auto tiny = x < broadcast<V>(0x1p-1022);
        auto [k, f] = wide_parts(select(tiny, x * 0x1p54, x));
        return wide_log_parts(V(k - select(tiny, broadcast<V>(54), V{})), f);
    }
}

// The special values: -inf at 0, NaN below, inf at inf.
template <class V>
INFINI_SIMD V wide_log_ends(V x, V zero, V y) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    y = select(x == broadcast<V>(kInf), x, y);
    return select(x > zero, y, select(x == zero, broadcast<V>(-kInf), broadcast<V>(kInf - kInf)));
}
// The leading part of ln 2 has so few bits that its products with k are exact.
template <class V>
INFINI_SIMD V wide_joined(const WideLog<V> &log) {
    const V low = fma(log.k, broadcast<V>(0x1.473de6af278edp-34), -log.low);
    return fma(log.k, broadcast<V>(0x1.62e42fefp-1), low + log.l);
}
// The same for a logarithm of wide_log_of(x), which may have 0 and infinity right already.
template <class V>
INFINI_SIMD V wide_log_made(V x, V y) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    if constexpr (kScaled<V>) return select(x < V{}, broadcast<V>(kNan), y);
    return wide_log_ends(x, V{}, y);
}
template <class V>
INFINI_SIMD V wide_log(V x) {
    return wide_log_made(x, wide_joined(wide_log_of(x)));
}
template <class V>
INFINI_SIMD V wide_log2(V x) {
    const auto log = wide_log_of(x);
    const V l = log.l - log.low;
    const V low = fma(l, broadcast<V>(0x1.777d0ffda0d24p-56), log.k);
    return wide_log_made(x, fma(l, broadcast<V>(kWideLog2E), low));
}
template <class V>
INFINI_SIMD V wide_log10(V x) {
    const auto log = wide_log_of(x);
    const V l = log.l - log.low;
    V y = fma(l, broadcast<V>(0x1.95355baaafad3p-57), log.k * 0x1.ef3fde623e256p-35);
    y = fma(l, broadcast<V>(0x1.bcb7b1526e50ep-2), y);
    return wide_log_made(x, fma(log.k, broadcast<V>(0x1.34413509p-2), y));
}
template <class V>
INFINI_SIMD V wide_log1p(V x) {
    using U = Like<V, uint64_t>;
    const V u = x + 1.0, lost = x - (u - 1.0);  // u + lost = 1 + x
    auto [k, f] = wide_parts(u);
    // 2^-k, or nearly 0 where k is so large that nothing was lost.
    const V scale = wide_exponent<V>(as<U>(V(at_least(1023.0 - k, 1.0) + kWideRounder)));
    const V y = wide_joined(wide_log_parts(k, V(fma(lost, scale, f))));
    return select(absolute(x) < broadcast<V>(0x1p-100), x, wide_log_ends(x, broadcast<V>(-1), y));
}

// ---- Powers -------------------------------------------------------------------------------------

// x^y for x >= 0, as 2^(y log2 x). The logarithm is a sum of two doubles: it takes the digits of a
// double, and as many as its product with y has before the point.
template <class V>
INFINI_SIMD V wide_power(V x, V y) {
    // log2((1 + s) / (1 - s)) / s, whose first two coefficients have a low part.
    constexpr double kFirst = 0x1.71547652b82fep+1, kFirstLow = 0x1.777d0ffda0d24p-55;
    constexpr double kSecond = 0x1.ec709dc3a03fdp-1, kSecondLow = 0x1.d27f05548af0cp-55;
    constexpr double kRest[] = {0x1.2776c50ef9bfep-1, 0x1.a61762a7aded9p-2, 0x1.484b13d7c02a9p-2,
                                0x1.0c9a84994022dp-2, 0x1.c68f568d31760p-3, 0x1.89f3b1694cffep-3,
                                0x1.5b9ac9b743f0dp-3, 0x1.3703c1f4d0ffep-3, 0x1.1964ec6fc9491p-3,
                                0x1.00ecd7e080215p-3};
    constexpr double kInf = std::numeric_limits<double>::infinity(), kBeyond = 1e300;
    const auto tiny = x < broadcast<V>(0x1p-1022);
    auto [k, f] = wide_parts(select(tiny, x * 0x1p54, x));
    k = k - select(tiny, broadcast<V>(54), V{});
    // s = f / (2 + f); names in -_low hold what the rounded value lacks.
    const V g = f + 2.0, g_low = f - (g - 2.0), inverse = 1.0 / g;
    const V s = f * inverse, s_low = (fma(-s, g, f) - s * g_low) * inverse;
    const V z = s * s, z_low = fma(s, s, -z) + 2.0 * s * s_low;
    const V rest = z * polynomial(z, kRest);
    const V u = rest + kSecond, u_low = kSecond - u + rest + kSecondLow;
    const V v = z * u, v_low = fma(z, u, -v) + z * u_low + z_low * u;
    const V w = v + kFirst, w_low = kFirst - w + v + (v_low + kFirstLow);
    const V l = s * w, l_low = fma(s, w, -l) + s * w_low + s_low * w;
    V log = k + l, log_low = k - log + l + l_low;
    // Infinite factors are replaced by large ones, as their products with 0 would be NaN.
    const auto none = x == V{}, infinite = x == broadcast<V>(kInf);
    log = select(none, broadcast<V>(-kBeyond), select(infinite, broadcast<V>(kBeyond), log));
    y = at_least(at_most(select(none | infinite, y * kBeyond, y), 1e8 * kBeyond), -1e8 * kBeyond);
    const V p = log * y, low = fma(log, y, -p) + log_low * y;
    const V power = wide_exp2(p, select(absolute(p) < broadcast<V>(1100), low, V{}));
    return select((x == x) & (y == y), power, x + y);
}

// ---- The error function -------------------------------------------------------------------------

// For |x| < 0.7.
template <class V>
INFINI_SIMD V wide_erf_small(V x) {
    constexpr double kC[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379e5p-2,  0x1.ce2f21a04295ap-4,
                             -0x1.b82ce31274ee7p-6,  0x1.565bcd0975aa5p-8,   -0x1.c02db28ceff1ep-11,
                             0x1.f9a2e31f336cbp-14,  -0x1.f4ca60dd2a957p-17, 0x1.b94bbd17b8a19p-20,
                             -0x1.5816992332a2ep-23, 0x1.9576656d5cb4ep-27};
    return fma(polynomial(V(x * x), kC), x, x);
}
// erfc(a) for 0.7 <= a: (1 + 2a) e^(a^2) erfc(a) is a polynomial in q = (a - 4) / (a + 4);
// quotients and squares are corrected for their rounding errors.
template <class V>
INFINI_SIMD V wide_erfc_large(V size) {
    constexpr double kC[] = {0x1.3ba5916e9fd7fp+0,  -0x1.1df1ad154a286p-3,  0x1.f7f5df66fdce2p-7,
                             0x1.16ecefcfa4a2dp-4,  -0x1.9ddb23c3ebbc7p-4,  0x1.7fee004e2b444p-4,
                             -0x1.0fb06dfe046bcp-4, 0x1.3079edf2b409dp-5,   -0x1.09623892f1501p-6,
                             0x1.49c673cef6ee7p-8,  -0x1.8d4a8d403fc60p-11, -0x1.a1e031936e67cp-13,
                             0x1.3bdf6181f8d6dp-13, -0x1.9936c79e04634p-16, -0x1.7861517d4fa37p-17,
                             0x1.7dbf1d1806e78p-18, 0x1.335d8df668a53p-22,  -0x1.a8a7c602c561cp-21,
                             0x1.563d5cb2907c4p-24, 0x1.4ebb9063f2651p-24,  -0x1.29e6f06502389p-26};
    const V one = broadcast<V>(1), four = broadcast<V>(4), a = at_most(size, 27.3);
    V r = one / (a + four), q = (a - four) * r;
    V e = fma(q, -a, fma(q + one, -four, a));
    q = fma(r, e, q);
    const V p = polynomial(q, kC);
    r = broadcast<V>(0.5) / (a + 0.5);
    q = p * r;
    e = (p - q) + fma(q + q, -a, V{});  // p - q (1 + 2a)
    r = fma(e, r, q);
    const V square = a * a, lost = fma(a, -a, square);
    auto [t, u] = wide_expm1_reduced(V(-square), 2046);
    return wide_times_exp(r, V(fma(u, lost, u + lost)), t);
}
template <class V>
INFINI_SIMD V wide_erf(V x) {
    const V a = absolute(x);
    const V large = 1.0 - wide_erfc_large(a);
    return select(a < broadcast<V>(0.7), wide_erf_small(x), copysign(large, x));
}
template <class V>
INFINI_SIMD V wide_erfc(V x) {
    const V a = absolute(x), y = wide_erfc_large(a);
    return select(a < broadcast<V>(0.7), 1.0 - wide_erf_small(x), select(x < V{}, 2.0 - y, y));
}
template <class V>
INFINI_SIMD V wide_one_plus_erf(V x) {
    return wide_erfc(V(-x));
}

// The inverse of the error function for doubles y: erf^-1(y) sqrt(2) around 0, and beyond it a
// function of sqrt(-log((1 - |y|) / 2)), both as rational functions (Wichura, 1988).
template <class D>
INFINI_SIMD D wide_erfinv(D y) {
    constexpr double kTop[3][8] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
         1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
         3.3430575583588128105e4, 2.5090809287301226727e3},
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
         3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
         2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
         2.71155556874348757815e-5, 2.01033439929228813265e-7}};
    constexpr double kBottom[3][8] = {
        {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
         2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
         5.2264952788528545610e3},
        {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
         1.05075007164441684324e-9},
        {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15}};
    constexpr double kRootHalf = 0x1.6a09e667f3bcdp-1;
    const D a = absolute(y), q = y * 0.5, tail = (1.0 - a) * 0.5;
    const auto central = a <= broadcast<D>(0.85);
    const D r = sqrt(-wide_joined(wide_log_of(tail)));
    const auto far = r > broadcast<D>(5);
    const D x = select(central, fma(-q, q, broadcast<D>(0.180625)),
                       r - select(far, broadcast<D>(5), broadcast<D>(1.6)));
    auto value = [&](const double (&c)[3][8]) {
        D sum{};
        for (int i = 7; i >= 0; --i) {
            const D outer = select(far, broadcast<D>(c[2][i]), broadcast<D>(c[1][i]));
            sum = fma(sum, x, select(central, broadcast<D>(c[0][i]), outer));
        }
        return sum;
    };
    const D factor = select(central, y, copysign(broadcast<D>(2), y));
    const D made = factor * (kRootHalf * 0.5 * (value(kTop) / value(kBottom)));
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const D end =
        select(a == broadcast<D>(1), copysign(broadcast<D>(kInf), y), broadcast<D>(kInf - kInf));
    return select(a < broadcast<D>(1), made, end);
}

}  // namespace infini::cpu::detail
