// Vectors: GCC's vector extensions sized for the instruction set, and the operations that they
// lack. +, -, *, /, <, ==, &, |, ^, ~, <<, >> and [] work on vectors directly; a comparison gives a
// mask of integers as wide as the lanes, 0 or -1. Everything here also takes scalars (masks are
// then bool), so that one template serves vectors and scalar tails.
//
// See also types.h (storage types), convert.h (loads and stores that convert) and functions.h (exp,
// log, erf, ...).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "convert_lanes.h"

#if defined(__ARM_NEON)
#include <arm_neon.h>
#elif defined(__x86_64__)
#include <immintrin.h>
#endif

namespace infini::cpu {

#define INFINI_SIMD [[gnu::always_inline]] inline

#if defined(__AVX512F__)
inline constexpr size_t kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr size_t kVectorBytes = 32;
#else
inline constexpr size_t kVectorBytes = 16;
#endif

// ---- Types --------------------------------------------------------------------------------------

template <class T, size_t bytes>
struct VectorOf {
    typedef T type __attribute__((vector_size(bytes)));
};
template <class T>
using Vec = typename VectorOf<T, kVectorBytes>::type;
using F32 = Vec<float>;
using F64 = Vec<double>;
using I32 = Vec<int32_t>;
using I64 = Vec<int64_t>;
using U32 = Vec<uint32_t>;
using U64 = Vec<uint64_t>;

// The number of lanes of a vector of T.
template <class T>
inline constexpr size_t kWidth = kVectorBytes / sizeof(T);

template <class V>
struct Lanes {
    using type = std::remove_cvref_t<decltype(std::declval<V &>()[0])>;
};
template <class V>
    requires std::is_arithmetic_v<V>
struct Lanes<V> {
    using type = V;
};
// The element type of a vector; a scalar is its own element.
template <class V>
using Element = typename Lanes<V>::type;
template <class V>
inline constexpr bool kIsVector = !std::is_arithmetic_v<V>;
template <class V>
inline constexpr size_t kLanes = sizeof(V) / sizeof(Element<V>);
// The result of a comparison: a vector of integers, or bool.
template <class V>
using Mask = decltype(std::declval<V>() < std::declval<V>());

// Same lanes, other element type: Like<V, int32_t>.
template <class V, class T>
struct LikeOf {
    using type = typename VectorOf<T, kLanes<V> * sizeof(T)>::type;
};
template <class V, class T>
    requires std::is_arithmetic_v<V>
struct LikeOf<V, T> {
    using type = T;
};
template <class V, class T>
using Like = typename LikeOf<V, T>::type;
template <size_t bytes>
struct IntegerOf {
    using type = std::conditional_t<
        bytes == 1, int8_t,
        std::conditional_t<bytes == 2, int16_t, std::conditional_t<bytes == 4, int32_t, int64_t>>>;
};
// Integers as wide as the lanes, for bit manipulation.
template <class V>
using Bits = Like<V, typename IntegerOf<sizeof(Element<V>)>::type>;

// ---- Making vectors -----------------------------------------------------------------------------

template <class V>
INFINI_SIMD V broadcast(Element<V> x) {
    if constexpr (kIsVector<V>)
        return x - V{};  // an addition would turn -0 into 0
    else
        return x;
}

// load<V>(p), or load(p) for a Vec of the type that p points to. Needs only the element's
// alignment.
template <class V = void, class T>
INFINI_SIMD auto load(const T *p) {
    std::conditional_t<std::is_void_v<V>, Vec<T>, V> v;
    static_assert(sizeof(Element<decltype(v)>) == sizeof(T));
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class V, class T>
INFINI_SIMD void store(T *p, V v) {
    static_assert(sizeof(Element<V>) == sizeof(T));
    std::memcpy(p, &v, sizeof v);
}

// Only the first n lanes (n <= lanes); the others are 0 when loaded, and not written when stored.
template <class V = void, class T>
INFINI_SIMD auto load_partial(const T *p, size_t n) {
    std::conditional_t<std::is_void_v<V>, Vec<T>, V> v{};
    T *lanes = reinterpret_cast<T *>(&v);
    for (size_t i = 0; i < n; ++i) lanes[i] = p[i];
    return v;
}
template <class V, class T>
INFINI_SIMD void store_partial(T *p, V v, size_t n) {
    const T *lanes = reinterpret_cast<const T *>(&v);
    for (size_t i = 0; i < n; ++i) p[i] = lanes[i];
}

// 0, 1, 2, ...
template <class V>
INFINI_SIMD V iota() {
    V v{};
    if constexpr (kIsVector<V>)
        for (size_t i = 0; i < kLanes<V>; ++i) v[i] = Element<V>(i);
    return v;
}

// ---- Lane by lane -------------------------------------------------------------------------------

// mask ? a : b. The mask comes from a comparison of vectors of the same lanes.
template <class M, class V>
INFINI_SIMD V select(M mask, V a, V b) {
    return mask ? a : b;
}

// Converts values: cast<I32>(x) truncates, cast<F32>(i) rounds to nearest.
template <class To, class V>
INFINI_SIMD To cast(V x) {
    if constexpr (kIsVector<V>)
        return detail::convert_lanes<Element<V>, Element<To>, To>(x);
    else
        return To(x);
}
// Reinterprets the bits: as<I32>(x).
template <class To, class V>
INFINI_SIMD To as(V x) {
    static_assert(sizeof(To) == sizeof(V));
    return __builtin_bit_cast(To, x);
}
template <class V>
INFINI_SIMD Bits<V> bits(V x) {
    return as<Bits<V>>(x);
}

// a * b + c, with a single rounding if the machine supports it.
template <class V>
INFINI_SIMD V fma(V a, V b, V c) {
    if constexpr (!kIsVector<V>) {
#if defined(__FMA__) || defined(__aarch64__)
        if constexpr (std::is_same_v<V, float>) return __builtin_fmaf(a, b, c);
        if constexpr (std::is_same_v<V, double>) return __builtin_fma(a, b, c);
#endif
        return a * b + c;
    } else {
#if defined(__ARM_NEON)
        if constexpr (std::is_same_v<V, F32>) return V(vfmaq_f32(c, a, b));
        if constexpr (std::is_same_v<V, F64>) return V(vfmaq_f64(c, a, b));
#elif defined(__AVX512F__)
        if constexpr (std::is_same_v<V, F32>) return V(_mm512_fmadd_ps(a, b, c));
        if constexpr (std::is_same_v<V, F64>) return V(_mm512_fmadd_pd(a, b, c));
#elif defined(__FMA__)
        if constexpr (std::is_same_v<V, F32>) return V(_mm256_fmadd_ps(a, b, c));
        if constexpr (std::is_same_v<V, F64>) return V(_mm256_fmadd_pd(a, b, c));
#endif
        return a * b + c;
    }
}

// The greater or smaller of two values; NaN propagates (torch.maximum).
template <class V>
INFINI_SIMD V maximum(V a, V b) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vmaxq_f32(a, b));
    if constexpr (std::is_same_v<V, F64>) return V(vmaxq_f64(a, b));
#endif
#if defined(__AVX512F__)
    // These give b if either is NaN.
    if constexpr (std::is_same_v<V, F32>) return a != a ? a : V(_mm512_max_ps(a, b));
    if constexpr (std::is_same_v<V, F64>) return a != a ? a : V(_mm512_max_pd(a, b));
#endif
    V greater = a > b ? a : b;
    if constexpr (std::is_floating_point_v<Element<V>>) return a != a ? a : greater;
    return greater;
}
template <class V>
INFINI_SIMD V minimum(V a, V b) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vminq_f32(a, b));
    if constexpr (std::is_same_v<V, F64>) return V(vminq_f64(a, b));
#endif
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, F32>) return a != a ? a : V(_mm512_min_ps(a, b));
    if constexpr (std::is_same_v<V, F64>) return a != a ? a : V(_mm512_min_pd(a, b));
#endif
    V smaller = a < b ? a : b;
    if constexpr (std::is_floating_point_v<Element<V>>) return a != a ? a : smaller;
    return smaller;
}
// The same, but NaN is ignored (torch.fmax).
template <class V>
INFINI_SIMD V fmax(V a, V b) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vmaxnmq_f32(a, b));
    if constexpr (std::is_same_v<V, F64>) return V(vmaxnmq_f64(a, b));
#endif
    V greater = a > b ? a : b;
    if constexpr (std::is_floating_point_v<Element<V>>) return b != b ? a : greater;
    return greater;
}
template <class V>
INFINI_SIMD V fmin(V a, V b) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return V(vminnmq_f32(a, b));
    if constexpr (std::is_same_v<V, F64>) return V(vminnmq_f64(a, b));
#endif
    V smaller = a < b ? a : b;
    if constexpr (std::is_floating_point_v<Element<V>>) return b != b ? a : smaller;
    return smaller;
}

// ---- Across lanes -------------------------------------------------------------------------------

// Reduces all lanes with combine(a, b), in a tree.
template <class V, class Combine>
INFINI_SIMD Element<V> reduce(V v, Combine combine) {
    if constexpr (kIsVector<V>) {
        const Bits<V> lane = iota<Bits<V>>();
#pragma GCC unroll 8
        for (size_t step = kLanes<V> / 2; step > 0; step /= 2)
            v = combine(v, __builtin_shuffle(v, lane ^ Element<Bits<V>>(step)));
        return v[0];
    } else {
        return v;
    }
}
template <class V>
INFINI_SIMD Element<V> reduce_add(V v) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return vaddvq_f32(v);
    if constexpr (std::is_same_v<V, I32>) return vaddvq_s32(v);
#endif
    return reduce(v, [](V a, V b) { return V(a + b); });
}
template <class V>
INFINI_SIMD Element<V> reduce_mul(V v) {
    return reduce(v, [](V a, V b) { return V(a * b); });
}
// NaN propagates.
template <class V>
INFINI_SIMD Element<V> reduce_max(V v) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return vmaxvq_f32(v);
#endif
    return reduce(v, [](V a, V b) { return maximum(a, b); });
}
template <class V>
INFINI_SIMD Element<V> reduce_min(V v) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<V, F32>) return vminvq_f32(v);
#endif
    return reduce(v, [](V a, V b) { return minimum(a, b); });
}

// Whether a mask is true in any lane, or in all.
template <class M>
INFINI_SIMD bool any(M mask) {
    if constexpr (!kIsVector<M>) {
        return bool(mask);
    } else if constexpr (sizeof(M) == kVectorBytes) {
#if defined(__ARM_NEON)
        if constexpr (sizeof(Element<M>) < 4) return vmaxvq_u8(as<uint8x16_t>(mask)) != 0;
        uint16x4_t halves = vmovn_u32(as<uint32x4_t>(mask));  // lanes are all ones or zero
        return vget_lane_u64(vreinterpret_u64_u16(halves), 0) != 0;
#elif defined(__AVX512F__)
        return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif defined(__AVX2__)
        return _mm256_movemask_epi8((__m256i)mask) != 0;
#elif defined(__SSE2__)
        return _mm_movemask_epi8((__m128i)mask) != 0;
#endif
    }
    return reduce(mask, [](M a, M b) { return M(a | b); }) != 0;
}
template <class M>
INFINI_SIMD bool all(M mask) {
    if constexpr (kIsVector<M>)
        return !any(M(~mask));
    else
        return bool(mask);
}

// Calls f(lane) for each lane: for operations without a vector instruction.
template <class V, class F>
INFINI_SIMD V each(V x, F f) {
    if constexpr (kIsVector<V>) {
        V y{};
        for (size_t i = 0; i < kLanes<V>; ++i) y[i] = f(x[i]);
        return y;
    } else {
        return f(x);
    }
}
template <class V, class F>
INFINI_SIMD V each(V a, V b, F f) {
    if constexpr (kIsVector<V>) {
        V y{};
        for (size_t i = 0; i < kLanes<V>; ++i) y[i] = f(a[i], b[i]);
        return y;
    } else {
        return f(a, b);
    }
}

}  // namespace infini::cpu
