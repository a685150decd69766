// Rounding, signs, roots, quotients and remainders.
#pragma once

#include <bit>
#include <limits>

#include "simd.h"

namespace infini::cpu {

// Whether fma() rounds once. Algorithms that depend on it have an alternative for old machines.
#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool kFma = true;
#else
inline constexpr bool kFma = false;
#endif

namespace detail {
template <class V>
inline constexpr bool kFloats = std::is_same_v<Element<V>, float>;
template <class V>
inline constexpr bool kIntegers = std::is_integral_v<Element<V>>;

// The sign bit of each lane.
template <class V>
inline constexpr Element<Bits<V>> kSign = std::numeric_limits<Element<Bits<V>>>::min();

// Applies a function of double to each lane, rounding once: for rare or difficult cases.
template <class V, class F>
INFINI_SIMD V in_double(V x, F f) {
    return each(x, [&](Element<V> lane) { return Element<V>(f(double(lane))); });
}
template <class V, class F>
INFINI_SIMD V in_double(V a, V b, F f) {
    return each(a, b,
                [&](Element<V> p, Element<V> q) { return Element<V>(f(double(p), double(q))); });
}

template <class V>
struct Halves {
    typename VectorOf<float, sizeof(V) / 2>::type low, high;
};

// Applies a function of vectors of double to the two halves of a vector of float.
template <class V, class F>
INFINI_SIMD V in_wide(V x, F f) {
    if constexpr (kIsVector<V>) {
        auto halves = std::bit_cast<Halves<V>>(x);
        using Half = decltype(halves.low);
        auto wide = [&](Half p) { return cast<Half>(f(cast<F64>(p))); };
        return std::bit_cast<V>(Halves<V>{wide(halves.low), wide(halves.high)});
    } else {
        return V(f(double(x)));
    }
}
template <class V, class F>
INFINI_SIMD V in_wide(V a, V b, F f) {
    if constexpr (kIsVector<V>) {
        auto one = std::bit_cast<Halves<V>>(a), other = std::bit_cast<Halves<V>>(b);
        using Half = decltype(one.low);
        auto wide = [&](Half p, Half q) { return cast<Half>(f(cast<F64>(p), cast<F64>(q))); };
        return std::bit_cast<V>(Halves<V>{wide(one.low, other.low), wide(one.high, other.high)});
    } else {
        return V(f(double(a), double(b)));
    }
}

// Whether by_power() and parts_of() have instructions, for vectors as wide as a register.
#if defined(__AVX512F__)
inline constexpr bool kScales = true;
#else
inline constexpr bool kScales = false;
#endif
template <class V>
inline constexpr bool kScaled = kScales && (std::is_same_v<V, F32> || std::is_same_v<V, F64>);

template <class V>
struct PowerParts {
    V k, m;
};
#if defined(__AVX512F__)
// y 2^n for whole numbers n, rounded once.
template <class V>
INFINI_SIMD V by_power(V y, V n) {
    if constexpr (kFloats<V>)
        return V(_mm512_scalef_ps(y, n));
    else
        return V(_mm512_scalef_pd(y, n));
}
// |x| = 2^k m with sqrt(1/2) <= m < sqrt(2); k is infinite, and m is 1, for 0 and infinities.
template <class V>
INFINI_SIMD PowerParts<V> parts_of(V x) {
    constexpr auto kNorm = _MM_MANT_NORM_1_2;
    constexpr auto kSign = _MM_MANT_SIGN_zero;
    if constexpr (kFloats<V>) {
        const __m512 m = _mm512_getmant_ps(x, kNorm, kSign), k = _mm512_getexp_ps(x);
        const auto high = _mm512_cmp_ps_mask(m, _mm512_set1_ps(0x1.6a09e6p0f), _CMP_GE_OQ);
        return {V(_mm512_mask_add_ps(k, high, k, _mm512_set1_ps(1))),
                V(_mm512_mask_mul_ps(m, high, m, _mm512_set1_ps(0.5f)))};
    } else {
        const __m512d m = _mm512_getmant_pd(x, kNorm, kSign), k = _mm512_getexp_pd(x);
        const auto high = _mm512_cmp_pd_mask(m, _mm512_set1_pd(0x1.6a09e667f3bcdp0), _CMP_GE_OQ);
        return {V(_mm512_mask_add_pd(k, high, k, _mm512_set1_pd(1))),
                V(_mm512_mask_mul_pd(m, high, m, _mm512_set1_pd(0.5)))};
    }
}
#endif

// 1 / x to 14 bits or better, for floats that are neither tiny nor huge.
template <class V>
INFINI_SIMD V inverse_near(V x) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm512_rcp14_ps(x));
    if constexpr (std::is_same_v<V, float>) {
        const __m128 lane = _mm_set_ss(x);
        return _mm_cvtss_f32(_mm_rcp14_ss(lane, lane));
    }
#endif
    return Element<V>(1) / x;
}
// p / (e + shift) for floats, without the rounding error of the sum.
template <class V>
INFINI_SIMD V over_sum(V p, V e, Element<V> shift) {
    const V sum = e + shift, lost = e - (sum - shift);
    const V inverse = inverse_near(sum), y = p * inverse;
    return fma(fma(-y, lost, fma(-y, sum, p)), inverse, y);
}

// c[0] + c[1] x + c[2] x^2 + ..., in pairs: the pairs are independent, and half of the sums need no
// copy of a coefficient on machines whose fma overwrites it.
template <class V, size_t count>
INFINI_SIMD V polynomial(V x, const Element<V> (&c)[count]) {
    const V square = x * x;
    auto pair = [&](size_t i) { return fma(broadcast<V>(c[i + 1]), x, broadcast<V>(c[i])); };
    constexpr size_t top = (count - 1) / 2 * 2;  // of the highest pair, or of a single last one
    V y = count % 2 ? broadcast<V>(c[top]) : pair(top);
#pragma GCC unroll 8
    for (size_t i = 2; i <= top; i += 2) y = fma(y, square, pair(top - i));
    return y;
}

// The same by Horner's rule, which has the smallest rounding error.
template <class V, size_t count>
INFINI_SIMD V horner(V x, const Element<V> (&c)[count]) {
    V y = broadcast<V>(c[count - 1]);
#pragma GCC unroll 16
    for (size_t i = 1; i < count; ++i) y = fma(y, x, broadcast<V>(c[count - 1 - i]));
    return y;
}

// x clamped from above (at_most) or from below (at_least); NaN stays NaN.
template <class V>
INFINI_SIMD V at_most(V x, Element<V> limit) {
    const V l = broadcast<V>(limit);
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm512_min_ps(l, x));
    if constexpr (std::is_same_v<V, F64>) return V(_mm512_min_pd(l, x));
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm256_min_ps(l, x));
#elif defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vminq_f32(l, x));
#endif
    return select(l < x, l, x);
}
template <class V>
INFINI_SIMD V at_least(V x, Element<V> limit) {
    const V l = broadcast<V>(limit);
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm512_max_ps(l, x));
    if constexpr (std::is_same_v<V, F64>) return V(_mm512_max_pd(l, x));
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm256_max_ps(l, x));
#elif defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vmaxq_f32(l, x));
#endif
    return select(l > x, l, x);
}
}  // namespace detail

// ---- Signs --------------------------------------------------------------------------------------

template <class V>
INFINI_SIMD V absolute(V x) {
    if constexpr (detail::kIntegers<V>) {
        // The smallest integer is returned unchanged.
        using U = Like<V, std::make_unsigned_t<Element<V>>>;
        return select(x < V{}, as<V>(U(U{} - as<U>(x))), x);
    } else {
        return as<V>(Bits<V>(bits(x) & ~detail::kSign<V>));
    }
}
template <class V>
INFINI_SIMD V copysign(V x, V sign) {
    const auto mask = broadcast<Bits<V>>(detail::kSign<V>);
    return as<V>(Bits<V>((bits(sign) & mask) | (bits(x) & ~mask)));
}
template <class V>
INFINI_SIMD Mask<V> isnan(V x) {
    return x != x;
}
template <class V>
INFINI_SIMD Mask<V> isinf(V x) {
    if constexpr (detail::kIntegers<V>)
        return x != x;
    else
        return absolute(x) == broadcast<V>(std::numeric_limits<Element<V>>::infinity());
}

// ---- Roots --------------------------------------------------------------------------------------

template <class V>
INFINI_SIMD V sqrt(V x) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vsqrtq_f32(x));
    if constexpr (std::is_same_v<V, F64>) return V(vsqrtq_f64(x));
#elif defined(__AVX512F__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm512_sqrt_ps(x));
    if constexpr (std::is_same_v<V, F64>) return V(_mm512_sqrt_pd(x));
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm256_sqrt_ps(x));
    if constexpr (std::is_same_v<V, F64>) return V(_mm256_sqrt_pd(x));
#elif defined(__SSE2__)
    if constexpr (std::is_same_v<V, F32>) return V(_mm_sqrt_ps(x));
    if constexpr (std::is_same_v<V, F64>) return V(_mm_sqrt_pd(x));
#endif
    return each(x, [](Element<V> lane) { return std::sqrt(lane); });
}
template <class V>
INFINI_SIMD V rsqrt(V x) {
    return broadcast<V>(1) / sqrt(x);
}
template <class V>
INFINI_SIMD V hypot(V a, V b) {
    if constexpr (detail::kFloats<V>) {
        V y = detail::in_wide(a, b, [](auto p, auto q) { return sqrt(p * p + q * q); });
        return select(isinf(a) | isinf(b), broadcast<V>(std::numeric_limits<float>::infinity()), y);
    } else if constexpr (std::is_same_v<V, F64> && kFma) {
        const V p = absolute(a), q = absolute(b), most = maximum(p, q);
        const V r = minimum(p, q) / most;  // 0 / 0 is masked out below
        const V y = most * sqrt(fma(r, r, broadcast<V>(1)));
        const V inf = broadcast<V>(std::numeric_limits<double>::infinity());
        return select((p == inf) | (q == inf), inf, select(most == V{}, V{}, y));
    } else {
        return detail::in_double(a, b, [](double p, double q) { return std::hypot(p, q); });
    }
}

// ---- Rounding -----------------------------------------------------------------------------------

// Each returns x unchanged if it has no fraction, and preserves the sign of zero.
#if defined(__ARM_NEON)
#define INFINI_ROUND(neon32, neon64, x86)                      \
    if constexpr (std::is_same_v<V, F32>) return V(neon32(x)); \
    if constexpr (std::is_same_v<V, F64>) return V(neon64(x));
#elif defined(__AVX512F__)
#define INFINI_ROUND(neon32, neon64, x86)                                           \
    if constexpr (std::is_same_v<V, F32>) return V(_mm512_roundscale_ps(x, (x86))); \
    if constexpr (std::is_same_v<V, F64>) return V(_mm512_roundscale_pd(x, (x86)));
#elif defined(__AVX2__)
#define INFINI_ROUND(neon32, neon64, x86)                                      \
    if constexpr (std::is_same_v<V, F32>) return V(_mm256_round_ps(x, (x86))); \
    if constexpr (std::is_same_v<V, F64>) return V(_mm256_round_pd(x, (x86)));
#else
#define INFINI_ROUND(neon32, neon64, x86)
#endif

template <class V>
INFINI_SIMD V floor(V x) {
    if constexpr (detail::kIntegers<V>) {
        return x;
    } else {
        INFINI_ROUND(vrndmq_f32, vrndmq_f64, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)
        return each(x, [](Element<V> lane) { return std::floor(lane); });
    }
}
template <class V>
INFINI_SIMD V ceil(V x) {
    if constexpr (detail::kIntegers<V>) {
        return x;
    } else {
        INFINI_ROUND(vrndpq_f32, vrndpq_f64, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
        return each(x, [](Element<V> lane) { return std::ceil(lane); });
    }
}
template <class V>
INFINI_SIMD V trunc(V x) {
    if constexpr (detail::kIntegers<V>) {
        return x;
    } else {
        INFINI_ROUND(vrndq_f32, vrndq_f64, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)
        return each(x, [](Element<V> lane) { return std::trunc(lane); });
    }
}
// To the nearest integer, ties to even.
template <class V>
INFINI_SIMD V nearest(V x) {
    if constexpr (detail::kIntegers<V>) {
        return x;
    } else {
        INFINI_ROUND(vrndnq_f32, vrndnq_f64, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)
        return each(x, [](Element<V> lane) { return std::nearbyint(lane); });
    }
}
#undef INFINI_ROUND

// ---- Quotients and remainders -------------------------------------------------------------------

namespace detail {
template <class T>
INFINI_SIMD bool is_minus_one(T x) {
    return std::is_signed_v<T> && x == T(-1);
}
// Integers round towards minus infinity. Division by 0 gives 0, and the smallest integer divided by
// -1 wraps, as in NumPy.
template <class T>
INFINI_SIMD T floordiv_integer(T a, T b) {
    if (b == 0) return 0;
    if (is_minus_one(b)) return T(0 - std::make_unsigned_t<T>(a));
    T quotient = a / b;
    return quotient - T((a % b != 0) && ((a < 0) != (b < 0)));
}
template <class T>
INFINI_SIMD T mod_integer(T a, T b) {
    if (b == 0 || is_minus_one(b)) return 0;
    T remainder = a % b;
    return remainder + ((remainder != 0 && (remainder < 0) != (b < 0)) ? b : T(0));
}
// Floats follow Python's rule, from the exact remainder; division by 0 gives the true quotient.
template <class T>
INFINI_SIMD T floordiv_float(T a, T b) {
    if (b == 0) return a / b;
    T remainder = std::fmod(a, b);
    T quotient = (a - remainder) / b;
    if (remainder != 0 && (b < 0) != (remainder < 0)) quotient -= 1;
    if (quotient == 0) return std::copysign(T(0), a / b);
    T whole = std::floor(quotient);
    return quotient - whole > T(0.5) ? whole + 1 : whole;
}
template <class T>
INFINI_SIMD T mod_float(T a, T b) {
    T remainder = std::fmod(a, b);
    if (remainder == 0) return b == 0 ? remainder : std::copysign(T(0), b);
    return (b < 0) != (remainder < 0) ? remainder + b : remainder;
}
}  // namespace detail

namespace detail {
// Whether all quotients are small enough that dividing doubles gives the correct integer part.
template <class V>
INFINI_SIMD bool small_quotients(V a, V b) {
    V size = absolute(b);
    return all((absolute(a) < size * 0x1p26f) &
               (size <= broadcast<V>(std::numeric_limits<float>::max())));
}
template <class D>
INFINI_SIMD D fmod_wide(D a, D b) {
    return copysign(fma(-trunc(D(a / b)), b, a), a);
}
template <class V>
inline constexpr bool kFloatVector = kFloats<V> && kIsVector<V>;
}  // namespace detail

template <class V>
INFINI_SIMD V floordiv(V a, V b) {
    if constexpr (detail::kFloatVector<V>)
        if (__builtin_expect(detail::small_quotients(a, b), 1))
            return detail::in_wide(a, b, [](auto p, auto q) { return floor(p / q); });
    return each(a, b, [](Element<V> p, Element<V> q) {
        if constexpr (detail::kIntegers<V>)
            return detail::floordiv_integer(p, q);
        else
            return Element<V>(detail::floordiv_float(double(p), double(q)));
    });
}
// The remainder with the sign of the divisor.
template <class V>
INFINI_SIMD V mod(V a, V b) {
    if constexpr (detail::kFloatVector<V>)
        if (__builtin_expect(detail::small_quotients(a, b), 1))
            return detail::in_wide(a, b, [](auto p, auto q) {
                auto r = detail::fmod_wide(p, q), zero = r - r;
                auto y = select((r < zero) != (q < zero), r + q, r);
                return select(r == zero, copysign(zero, q), y);
            });
    return each(a, b, [](Element<V> p, Element<V> q) {
        if constexpr (detail::kIntegers<V>)
            return detail::mod_integer(p, q);
        else
            return detail::mod_float(p, q);
    });
}
// The remainder with the sign of the dividend.
template <class V>
INFINI_SIMD V fmod(V a, V b) {
    if constexpr (detail::kFloatVector<V>)
        if (__builtin_expect(detail::small_quotients(a, b), 1))
            return detail::in_wide(a, b, [](auto p, auto q) { return detail::fmod_wide(p, q); });
    return each(a, b, [](Element<V> p, Element<V> q) -> Element<V> {
        if constexpr (detail::kIntegers<V>)
            return q == 0 || detail::is_minus_one(q) ? 0 : p % q;
        else
            return std::fmod(p, q);
    });
}

}  // namespace infini::cpu
