// Exponentials, logarithms and trigonometric functions: CUDA's, or faster ones if the result type
// hides the difference.
#pragma once

namespace infini {

namespace detail {
// Above this limit CUDA's functions use their slow argument reduction. Comparing with it first
// keeps that code out of the callers, in one function.
inline constexpr float kFar = 105615.0f;
static INFINI_APART float sin_far(float x) { return ::sinf(x); }
static INFINI_APART float cos_far(float x) { return ::cosf(x); }
static INFINI_APART float tan_far(float x) { return ::tanf(x); }
INFINI_DEVICE float sin_of(float x) { return ::fabsf(x) >= kFar ? sin_far(x) : ::sinf(x); }
INFINI_DEVICE float cos_of(float x) { return ::fabsf(x) >= kFar ? cos_far(x) : ::cosf(x); }
INFINI_DEVICE float tan_of(float x) { return ::fabsf(x) >= kFar ? tan_far(x) : ::tanf(x); }
}  // namespace detail

template <class V>
INFINI_DEVICE V exp(V x) {
    if constexpr (kRough && kSame<V, float>)
        return ptx::exp2_approx(x * 1.4426950408889634f);
    else if constexpr (kSame<V, float>)
        return ::expf(x);
    else
        return ::exp(x);
}
template <class V>
INFINI_DEVICE V exp2(V x) {
    if constexpr (kRough && kSame<V, float>)
        return ptx::exp2_approx(x);
    else if constexpr (kSame<V, float>)
        return ::exp2f(x);
    else
        return ::exp2(x);
}

template <class V>
INFINI_DEVICE V tanh(V x) {
    if constexpr (kRough && kSame<V, float>) {
        // 1 - 2 / (e^2x + 1), and near 0 a series, which avoids cancellation.
        const float z = x * x, e = ptx::exp2_approx(x * 2.8853900817779268f);
        const float large = 1.0f - 2.0f * ptx::reciprocal_approx(e + 1.0f);
        float series = -0.05396825396825397f * z + 0.13333333333333333f;
        series = series * z - 0.33333333333333333f;
        return ptx::select_below(z, 0.09f, series * z * x + x, large);
    } else if constexpr (kSame<V, float>) {
        return ::tanhf(x);
    } else {
        return ::tanh(x);
    }
}

template <class V>
INFINI_DEVICE V erf(V x) {
    if constexpr (kRough && kSame<V, float>) {
        // 1 - 2^(-a q(a)) for a = |x|, with an error of 2.4e-7; near 0 a series, which stays
        // accurate there.
        const float size = ::fabsf(x), a = 6.0f < size ? 6.0f : size, z = x * x;
        float q = -0.0001420407643308863f * a + 0.0036642763298004866f;
        q = q * a - 0.030896194279193878f;
        q = q * a + 0.14969944953918457f;
        q = q * a + 0.9181654453277588f;
        q = q * a + 1.6279250383377075f;
        const float large = 1.0f - ptx::exp2_approx(-a * q);
        float series = -0.026866170645131252f * z + 0.11283791670955126f;
        series = series * z - 0.37612638903183754f;
        series = series * z + 1.1283791670955126f;
        return ptx::select_below(z, 0.0625f, series * x, ::copysignf(large, x));
    } else if constexpr (kSame<V, float>) {
        return ::erff(x);
    } else {
        return ::erf(x);
    }
}

// 1 + erf(x), accurate also where erf(x) is close to -1.
template <class V>
INFINI_DEVICE V one_plus_erf(V x) {
    if constexpr (kRough && kSame<V, float>) {
        // erfc(a) = 2^(-a q(a)) for a = |x|, with a relative error of 4e-6 up to 4, and 1e-2 at 6.
        const float a = ::fabsf(x);
        float q = 2.02701974e-05f * a - 4.85520178e-04f;
        q = q * a + 5.22100040e-03f;
        q = q * a - 3.39044704e-02f;
        q = q * a + 1.52423447e-01f;
        q = q * a + 9.17084667e-01f;
        q = q * a + 1.62806275e+00f;
        const float e = ptx::exp2_approx(-a * q);
        return ptx::select_below(x, 0.0f, e, 2.0f - e);
    } else {
        return V(1) + erf(x);
    }
}

INFINI_BOTH_WIDTHS(expm1, ::expm1f, ::expm1)
INFINI_BOTH_WIDTHS(log, ::logf, ::log)
INFINI_BOTH_WIDTHS(log2, ::log2f, ::log2)
INFINI_BOTH_WIDTHS(log10, ::log10f, ::log10)
INFINI_BOTH_WIDTHS(log1p, ::log1pf, ::log1p)
INFINI_BOTH_WIDTHS(sin, detail::sin_of, ::sin)
INFINI_BOTH_WIDTHS(cos, detail::cos_of, ::cos)
INFINI_BOTH_WIDTHS(tan, detail::tan_of, ::tan)
INFINI_BOTH_WIDTHS(asin, ::asinf, ::asin)
INFINI_BOTH_WIDTHS(acos, ::acosf, ::acos)
INFINI_BOTH_WIDTHS(atan, ::atanf, ::atan)
INFINI_BOTH_WIDTHS(sinh, ::sinhf, ::sinh)
INFINI_BOTH_WIDTHS(cosh, ::coshf, ::cosh)
INFINI_BOTH_WIDTHS(asinh, ::asinhf, ::asinh)
INFINI_BOTH_WIDTHS(acosh, ::acoshf, ::acosh)
INFINI_BOTH_WIDTHS(atanh, ::atanhf, ::atanh)
INFINI_BOTH_WIDTHS(erfc, ::erfcf, ::erfc)

template <class V>
INFINI_DEVICE V atan2(V y, V x) {
    if constexpr (kSame<V, float>)
        return ::atan2f(y, x);
    else
        return ::atan2(y, x);
}

}  // namespace infini
