// Exponentials, logarithms, sines and their kin: CUDA's, or shorter ones where that does not show.
#pragma once

namespace infini {

namespace detail {
// 2^x in one instruction, to about 22 bits.
INFINI_DEVICE float exp2_short(float x) {
#ifdef INFINI_SIMULATED
    return ::exp2f(x);
#else
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}
}  // namespace detail

template <class V>
INFINI_DEVICE V exp(V x) {
    if constexpr (kRough && kSame<V, float>)
        return detail::exp2_short(x * 1.4426950408889634f);
    else if constexpr (kSame<V, float>)
        return ::expf(x);
    else
        return ::exp(x);
}
template <class V>
INFINI_DEVICE V exp2(V x) {
    if constexpr (kRough && kSame<V, float>)
        return detail::exp2_short(x);
    else if constexpr (kSame<V, float>)
        return ::exp2f(x);
    else
        return ::exp2(x);
}

template <class V>
INFINI_DEVICE V tanh(V x) {
    if constexpr (kRough && kSame<V, float>) {
        // 1 - 2 / (e^2x + 1), and a series near 0, where that loses its digits.
        const float z = x * x, e = detail::exp2_short(x * 2.8853900817779268f);
        const float large = 1.0f - 2.0f * detail::reciprocal_short(e + 1.0f);
        float series = -0.05396825396825397f * z + 0.13333333333333333f;
        series = series * z - 0.33333333333333333f;
        return z < 0.09f ? series * z * x + x : large;
    } else if constexpr (kSame<V, float>) {
        return ::tanhf(x);
    } else {
        return ::tanh(x);
    }
}

INFINI_BOTH_WIDTHS(expm1, ::expm1f, ::expm1)
INFINI_BOTH_WIDTHS(log, ::logf, ::log)
INFINI_BOTH_WIDTHS(log2, ::log2f, ::log2)
INFINI_BOTH_WIDTHS(log10, ::log10f, ::log10)
INFINI_BOTH_WIDTHS(log1p, ::log1pf, ::log1p)
INFINI_BOTH_WIDTHS(sin, ::sinf, ::sin)
INFINI_BOTH_WIDTHS(cos, ::cosf, ::cos)
INFINI_BOTH_WIDTHS(tan, ::tanf, ::tan)
INFINI_BOTH_WIDTHS(asin, ::asinf, ::asin)
INFINI_BOTH_WIDTHS(acos, ::acosf, ::acos)
INFINI_BOTH_WIDTHS(atan, ::atanf, ::atan)
INFINI_BOTH_WIDTHS(sinh, ::sinhf, ::sinh)
INFINI_BOTH_WIDTHS(cosh, ::coshf, ::cosh)
INFINI_BOTH_WIDTHS(asinh, ::asinhf, ::asinh)
INFINI_BOTH_WIDTHS(acosh, ::acoshf, ::acosh)
INFINI_BOTH_WIDTHS(atanh, ::atanhf, ::atanh)
INFINI_BOTH_WIDTHS(erf, ::erff, ::erf)
INFINI_BOTH_WIDTHS(erfc, ::erfcf, ::erfc)

template <class V>
INFINI_DEVICE V atan2(V y, V x) {
    if constexpr (kSame<V, float>)
        return ::atan2f(y, x);
    else
        return ::atan2(y, x);
}

}  // namespace infini
