// Logarithms of float and functions based on them, without branches: x = 2^k (1 + f) with f around
// 0, and log x = k ln 2 + f + f^2 P(f). Doubles: math_double.h, else libm.
#pragma once

#include "math_double.h"

namespace infini::cpu {

namespace detail {
constexpr int32_t kSqrtHalf = 0x3f3504f3;  // the bits of sqrt(1/2), where k changes
constexpr float kLn2 = 0x1.62e43p-1f;
// (log(1 + f) - f) / f^2, and the same divided by ln 2 and by ln 10
constexpr float kLogC[] = {-0x1.fffff8p-2f, 0x1.55555p-2f,   -0x1.000432p-2f,
                           0x1.99a3e2p-3f,  -0x1.542584p-3f, 0x1.2273f4p-3f,
                           -0x1.0f48fep-3f, 0x1.083896p-3f,  -0x1.37acdep-4f};
constexpr float kLog2C[] = {-0x1.71547p-1f,  0x1.ec7092p-2f,  -0x1.715aeep-2f,
                            0x1.277fe2p-2f,  -0x1.eaa98ap-3f, 0x1.a2b5dap-3f,
                            -0x1.878f52p-3f, 0x1.7f6be6p-3f,  -0x1.c681f4p-4f};
constexpr float kLog10C[] = {-0x1.bcb7aap-3f, 0x1.287a7p-3f,  -0x1.bcbf44p-4f,
                             0x1.63d072p-4f,  -0x1.276d1p-4f, 0x1.f84fc8p-5f,
                             -0x1.d755dp-5f,  0x1.ccbb5ep-5f, -0x1.10c87ep-5f};

template <class V>
struct LogParts {
    V k, f;  // k 2^23: the exponent in its position among the bits
};

// For 0 < x < infinity, including denormals.
template <class V>
INFINI_SIMD LogParts<V> log_parts(V x) {
    using I = Bits<V>;
    const auto tiny = x < broadcast<V>(0x1p-126f);
    I u = bits(select(tiny, x * 0x1p23f, x));
    I k = (u - kSqrtHalf) & int32_t(0xff800000);
    V f = as<V>(I(u - k)) - 1.0f;
    return {cast<V>(I(k - select(tiny, broadcast<I>(23 << 23), I{}))), f};
}

// The special values: -inf at 0, NaN below, inf at inf.
template <class V>
INFINI_SIMD V log_ends(V x, V zero, V y) {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    y = select(x == broadcast<V>(kInf), x, y);
    return select(x > zero, y, select(x == zero, broadcast<V>(-kInf), broadcast<V>(kNan)));
}

// A logarithm of 2^k (1 + f), where y(f, k) gives what k times `two` lacks.
template <class V, class F>
INFINI_SIMD V log_of(V x, float two, F y) {
    if constexpr (kScaled<V>) {
        constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
        auto [k, m] = parts_of(x);
        const V f = m - 1.0f;
        return select(x < V{}, broadcast<V>(kNan), fma(k, broadcast<V>(two), y(f, k)));
    } else {
        auto [k, f] = log_parts(x);
        return log_ends(x, V{}, fma(k, broadcast<V>(two * 0x1p-23f), y(f, V(k * 0x1p-23f))));
    }
}

template <class V>
INFINI_SIMD V log_float(V x) {
    return log_of(x, kLn2, [](V f, V) { return fma(polynomial(f, kLogC), f * f, f); });
}

// The factors of a logarithm to another base: log 2 and log e in that base. The low part of the
// first is not negative, as infinite k must not become NaN.
template <class V>
INFINI_SIMD V log_base(V x, const float (&c)[9], float two, float two_low, float e, float e_low) {
    return log_of(x, two, [=, &c](V f, V k) {
        V low = fma(f, broadcast<V>(e_low), two_low ? k * two_low : V{});
        return fma(f, broadcast<V>(e), fma(polynomial(f, c), f * f, low));
    });
}

template <class V>
INFINI_SIMD V log1p_float(V x) {
    using I = Bits<V>;
    V u = x + 1.0f;
    V lost = x - (u - 1.0f);  // u + lost = 1 + x
    I k = (bits(u) - kSqrtHalf) & int32_t(0xff800000);
    I s = 0x3f800000 - k;  // 2^-k, or 0 where k is so large that nothing was lost
    V f = fma(lost, as<V>(I(select(s > I{}, s, I{}))), as<V>(I(bits(u) - k)) - 1.0f);
    V y = fma(polynomial(f, kLogC), f * f, f);
    y = log_ends(x, broadcast<V>(-1), fma(cast<V>(k), broadcast<V>(kLn2 * 0x1p-23f), y));
    return select(absolute(x) < broadcast<V>(0x1p-60f), x, y);
}
}  // namespace detail

template <class V>
INFINI_SIMD V log(V x) {
    if constexpr (detail::kFloats<V>)
        return detail::log_float(x);
    else if constexpr (detail::kDoubles<V>)
        return detail::wide_log(x);
    else
        return detail::in_double(x, [](double lane) { return std::log(lane); });
}
template <class V>
INFINI_SIMD V log2(V x) {
    if constexpr (detail::kFloats<V>)
        return detail::log_base(x, detail::kLog2C, 1.0f, 0.0f, 0x1.715476p0f, 0x1.4ae0cp-26f);
    else if constexpr (detail::kDoubles<V>)
        return detail::wide_log2(x);
    else
        return detail::in_double(x, [](double lane) { return std::log2(lane); });
}
template <class V>
INFINI_SIMD V log10(V x) {
    if constexpr (detail::kFloats<V>)
        return detail::log_base(x, detail::kLog10C, 0x1.344134p-2f, 0x1.09f7ap-26f, 0x1.bcb7b2p-2f,
                                -0x1.5b235ep-27f);
    else if constexpr (detail::kDoubles<V>)
        return detail::wide_log10(x);
    else
        return detail::in_double(x, [](double lane) { return std::log10(lane); });
}
template <class V>
INFINI_SIMD V log1p(V x) {
    if constexpr (detail::kFloats<V>)
        return detail::log1p_float(x);
    else if constexpr (detail::kDoubles<V>)
        return detail::wide_log1p(x);
    else
        return detail::in_double(x, [](double lane) { return std::log1p(lane); });
}

template <class V>
INFINI_SIMD V asinh(V x) {
    if constexpr (detail::kFloats<V> || detail::kDoubles<V>) {
        V a = absolute(x);
        auto large = a > broadcast<V>(0x1p60f);  // where the square overflows
        V z = fma(a, a / (sqrt(fma(a, a, broadcast<V>(1))) + 1.0f), a);
        V y = log1p(select(large, a, z));
        return copysign(y + select(large, broadcast<V>(Element<V>(detail::kWideLn2)), V{}), x);
    } else {
        return detail::in_double(x, [](double lane) { return std::asinh(lane); });
    }
}
template <class V>
INFINI_SIMD V acosh(V x) {
    if constexpr (detail::kFloats<V> || detail::kDoubles<V>) {
        auto large = x > broadcast<V>(0x1p60f);
        V t = x - 1.0f;
        V z = t + sqrt(fma(t, t, t + t));
        z = select(x < broadcast<V>(1), broadcast<V>(-2), z);  // NaN
        V y = log1p(select(large, x, z));
        return y + select(large, broadcast<V>(Element<V>(detail::kWideLn2)), V{});
    } else {
        return detail::in_double(x, [](double lane) { return std::acosh(lane); });
    }
}
template <class V>
INFINI_SIMD V atanh(V x) {
    if constexpr (detail::kFloats<V> || detail::kDoubles<V>) {
        V a = absolute(x), t = a + a;
        V z = select(a < broadcast<V>(0.5f), fma(t, a / (1.0f - a), t), t / (1.0f - a));
        return copysign(log1p(z) * 0.5f, x);
    } else {
        return detail::in_double(x, [](double lane) { return std::atanh(lane); });
    }
}

}  // namespace infini::cpu
