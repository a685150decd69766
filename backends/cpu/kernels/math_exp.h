// Exponentials and hyperbolic functions of float, without branches: e^x = 2^n e^r with a small r
// and a polynomial for e^r. Polynomials here and in the other files are minimax fits of the
// relative error, with coefficients rounded to float. For doubles see math_double.h; where its
// functions are not available, libm is called lane by lane.
#pragma once

#include "math_double.h"

namespace infini::cpu {

namespace detail {
// Adding this to a small number leaves its nearest integer in the lowest bits.
constexpr float kRounder = 0x1.8p23f;
// Ln 2 in two parts: the first has so few bits that its products with n are exact.
constexpr float kLn2High = 0x1.62e4p-1f, kLn2Low = 0x1.7f7d1cp-20f;
constexpr float kLog2E = 0x1.715476p0f;

// 2^(k - 127) for integers k in the lowest bits.
template <class V>
INFINI_SIMD V exponent(Like<V, uint32_t> k) {
    return as<V>(Like<V, uint32_t>(k << 23));
}

template <class V>
struct Scaled {
    V factor, scale;
};

// e^x = factor * scale * scale, for -120 < x < 120. The scale is split in two so that it never
// overflows when the result does not, and denormal results are rounded once.
template <class V>
INFINI_SIMD Scaled<V> exp_scaled(V x) {
    constexpr float kC[] = {0x1.00000cp-1f, 0x1.55551p-3f,   0x1.5549d4p-5f,
                            0x1.1127c8p-7f, 0x1.71c7bap-10f, 0x1.9b8134p-13f};
    const V rounder = broadcast<V>(kRounder + 127);  // includes the bias of the exponent
    V t = fma(x, broadcast<V>(kLog2E / 2), rounder);
    V n = t - rounder;
    V r = fma(n, broadcast<V>(-2 * kLn2Low), fma(n, broadcast<V>(-2 * kLn2High), x));
    return {fma(r * r, polynomial(r, kC), r) + 1.0f, exponent<V>(as<Like<V, uint32_t>>(t))};
}

// x = n ln 2 + r with |r| < 0.35; t holds n in its lowest bits, with a bias of 2^23.
template <class V>
struct Reduced {
    V t, q;  // q = e^r - 1
};
template <class V>
INFINI_SIMD Reduced<V> expm1_reduced(V x, float bias) {
    constexpr float kC[] = {0x1.fffffep-2f, 0x1.5554b2p-3f, 0x1.5556f4p-5f, 0x1.1226e6p-7f,
                            0x1.6b9bb8p-10f};
    const V rounder = broadcast<V>(kRounder + bias);
    V t = fma(x, broadcast<V>(kLog2E), rounder);
    V n = t - rounder;
    V r = fma(n, broadcast<V>(-kLn2Low), fma(n, broadcast<V>(-kLn2High), x));
    return {t, fma(r * r, polynomial(r, kC), r)};
}

// (e^x - 1) * 2^shift, for -80 < x and n + shift < 128.
template <class V>
INFINI_SIMD V expm1_scaled(V x, int shift) {
    auto [t, q] = expm1_reduced(x, 127 + float(shift));
    V scale = exponent<V>(as<Like<V, uint32_t>>(t));
    return fma(scale, q, scale - std::bit_cast<float>((127 + shift) << 23));
}

// y * (1 + q) * 2^n of a reduction with bias 254; rounds twice.
template <class V>
INFINI_SIMD V times_exp(V y, V q, V t) {
    if constexpr (kScaled<V>) {
        return by_power(fma(y, q, y), V(t - (kRounder + 254)));
    } else {
        auto k = as<Like<V, uint32_t>>(t), half = k >> 1;
        return fma(y, q, y) * exponent<V>(half) * exponent<V>(k - half);
    }
}

// Where y 2^n is one instruction, n may be any whole number; elsewhere halves of x give a scale.
// Results of 0 (of masked scores above all) are not computed: an underflow costs processors a
// hundred cycles.
template <class V>
INFINI_SIMD V exp_float(V x) {
    const auto vanishes = x < -104.0f;
    const V limited = at_most(select(vanishes, V{}, x), 89.0f);
    if constexpr (kScales) {
        auto [t, q] = expm1_reduced(limited, 254);
        return select(vanishes, V{}, times_exp(broadcast<V>(1), q, t));
    } else {
        auto [factor, scale] = exp_scaled(limited);
        return select(vanishes, V{}, V(factor * scale * scale));
    }
}
}  // namespace detail

template <class V>
INFINI_SIMD V exp(V x) {
    if constexpr (detail::kFloats<V>)
        return detail::exp_float(x);
    else if constexpr (detail::kDoubles<V>)
        return detail::wide_exp(x);
    else
        return detail::in_double(x, [](double lane) { return std::exp(lane); });
}

template <class V>
INFINI_SIMD V exp2(V x) {
    if constexpr (detail::kFloats<V>) {
        constexpr float kC[] = {1.0f,           0x1.62e432p-1f, 0x1.ebfbf8p-3f,  0x1.c6afap-5f,
                                0x1.3b1fdap-7f, 0x1.5dbd8p-10f, 0x1.4821d4p-13f, 0x1.f4f3bap-17f};
        const V rounder = broadcast<V>(detail::kRounder + 127);
        V limited = detail::at_most(detail::at_least(x, -151.0f), 129.0f);
        V t = fma(limited, broadcast<V>(0.5f), rounder);
        V f = fma(t - rounder, broadcast<V>(-2.0f), limited);
        V scale = detail::exponent<V>(as<Like<V, uint32_t>>(t));
        return detail::polynomial(f, kC) * scale * scale;
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_exp2(x);
    } else {
        return detail::in_double(x, [](double lane) { return std::exp2(lane); });
    }
}

template <class V>
INFINI_SIMD V expm1(V x) {
    if constexpr (detail::kFloats<V>) {
        V limited = detail::at_most(detail::at_least(x, -18.0f), 89.0f);
        V half = detail::expm1_scaled(limited, -1);  // near the upper limit 2^n overflows a float
        return select(absolute(x) < broadcast<V>(0x1p-100f), x, half + half);
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_expm1(x);
    } else {
        return detail::in_double(x, [](double lane) { return std::expm1(lane); });
    }
}

// 1 / (1 + e^-x), from the exponential that cannot overflow.
template <class V>
INFINI_SIMD V sigmoid(V x) {
    if constexpr (detail::kFloats<V>) {
        auto [t, q] = detail::expm1_reduced(detail::at_least(-absolute(x), -105.0f), 254);
        V one = broadcast<V>(1), e = detail::times_exp(one, q, t);
        return detail::over_sum(V(select(x < V{}, e, one)), e, 1.0f);
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_sigmoid(x);
    } else {
        return detail::in_double(x, [](double lane) {
            double e = std::exp(-std::fabs(lane));
            return (lane < 0 ? e : 1) / (1 + e);
        });
    }
}

template <class V>
INFINI_SIMD V tanh(V x) {
    if constexpr (detail::kFloats<V>) {
        V limited = detail::at_most(absolute(x), 9.5f);
        V e = detail::expm1_scaled(limited + limited, 0);
        return copysign(detail::over_sum(e, e, 2.0f), x);
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_tanh(x);
    } else {
        return detail::in_double(x, [](double lane) { return std::tanh(lane); });
    }
}

template <class V>
INFINI_SIMD V sinh(V x) {
    if constexpr (detail::kFloats<V>) {
        // Uses e = (e^|x| - 1) / 4, which is still finite where the result is not.
        V a = detail::at_most(absolute(x), 89.5f);
        V e = detail::expm1_scaled(a, -2);
        V y = fma(e / (e + 0.25f), broadcast<V>(0.5f), e + e);
        constexpr float kC[] = {0x1.555558p-3f, 0x1.110df8p-7f, 0x1.a3ff2p-13f};
        V z = x * x, small = fma(x * z, detail::polynomial(z, kC), x);
        return select(a < broadcast<V>(0.6f), small, copysign(y, x));
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_sinh(x);
    } else {
        return detail::in_double(x, [](double lane) { return std::sinh(lane); });
    }
}

template <class V>
INFINI_SIMD V cosh(V x) {
    if constexpr (detail::kFloats<V>) {
        auto [factor, scale] = detail::exp_scaled(detail::at_most(absolute(x), 89.5f));
        V e = factor * scale * (scale * 0.25f);  // e^|x| / 4
        return e + e + 0.125f / e;
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_cosh(x);
    } else {
        return detail::in_double(x, [](double lane) { return std::cosh(lane); });
    }
}

}  // namespace infini::cpu
