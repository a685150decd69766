// The error function of float and its complement. Doubles: math_double.h, else libm.
#pragma once

#include "math_exp.h"

namespace infini::cpu {

namespace detail {
// For |x| < 0.92.
template <class V>
INFINI_SIMD V erf_small(V x) {
    constexpr float kC[] = {0x1.06eba8p-3f,  -0x1.8127p-2f,  0x1.ce1c44p-4f,
                            -0x1.b691b2p-6f, 0x1.471a58p-8f, -0x1.38ep-11f};
    return fma(polynomial(x * x, kC), x, x);
}

// p(a) for a > 0.92: erfc(a) = e^p(a) with a relative error of 7e-5 up to 4, and 1e-2 at 5.5.
template <class V>
INFINI_SIMD V erfc_exponent(V a) {
    constexpr float kC[] = {-0x1.079d0cp-3f, -0x1.450aap-1f,  -0x1.b55cb8p-4f, 0x1.8d6342p-6f,
                            -0x1.fd1438p-9f, 0x1.91cfb2p-12f, -0x1.22p-16f};
    return fma(polynomial(a, kC), a, -a);
}
}  // namespace detail

template <class V>
INFINI_SIMD V erf(V x) {
    if constexpr (detail::kFloats<V>) {
        V small = detail::erf_small(x);
        V a = absolute(x);
        V large = detail::expm1_scaled(detail::erfc_exponent(detail::at_most(a, 4.0f)), 0);
        return select(a < broadcast<V>(0x1.dbp-1f), small, copysign(large, x));
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_erf(x);
    } else {
        return detail::in_double(x, [](double lane) { return std::erf(lane); });
    }
}

// 1 + erf(x) for floats, without the cancellation of the plain sum where erf(x) is close to -1.
template <class V>
INFINI_SIMD V one_plus_erf(V x) {
    if constexpr (detail::kFloats<V>) {
        // From 8.97 on, the exponent of e is that of 0, so the result is exactly 0.
        V a = absolute(x), p = detail::erfc_exponent(detail::at_most(a, 0x1.1f18p3f));
        auto [t, q] = detail::expm1_reduced(p, 127);
        V scale = detail::exponent<V>(as<Like<V, uint32_t>>(t)), e = fma(scale, q, scale);
        return select(a < broadcast<V>(0x1.dbp-1f), detail::erf_small(x) + 1.0f,
                      select(x < V{}, e, 2.0f - e));
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_one_plus_erf(x);
    } else {
        return detail::in_double(x, [](double lane) { return 1 + std::erf(lane); });
    }
}

template <class V>
INFINI_SIMD V erfc(V x) {
    constexpr auto libm = [](double lane) { return std::erfc(lane); };
    if constexpr (detail::kFloats<V> && kFma) {
        // (1 + 2a) e^(a^2) erfc(a) - 1 is a polynomial in q = (a - 2) / (a + 2); quotients and
        // squares are corrected for their rounding errors. (After N. Juffa.)
        constexpr float kC[] = {0x1.1ba03ap-2f,  -0x1.7bf616p-4f, -0x1.54084p-3f, 0x1.4ffc46p-3f,
                                -0x1.bc0b6ap-5f, -0x1.081b82p-7f, 0x1.1adcc4p-7f, 0x1.585714p-10f,
                                -0x1.42a26p-10f, -0x1.a4ap-12f};
        const V one = broadcast<V>(1), two = broadcast<V>(2);
        V a = detail::at_most(absolute(x), 10.5f);
        V r = one / (a + two), q = (a - two) * r;
        V e = fma(q, -a, fma(q + one, -two, a));
        q = fma(r, e, q);
        V p = detail::horner(q, kC);
        r = broadcast<V>(0.5f) / (a + 0.5f);
        q = fma(p, r, r);
        e = (p - q) + fma(q + q, -a, one);
        r = fma(e, r, q);
        V square = a * a, lost = fma(a, -a, square);
        auto [t, u] = detail::expm1_reduced(-square, 254);
        V y = detail::times_exp(r, fma(u, lost, u + lost), t);
        y = select(x < V{}, two - y, y);
        return select(absolute(x) < broadcast<V>(0.5f), one - detail::erf_small(x), y);
    } else if constexpr (detail::kDoubles<V>) {
        return detail::wide_erfc(x);
    } else {
        return detail::in_double(x, libm);
    }
}

}  // namespace infini::cpu
