// Loads and stores that convert: vectors in registers, and blocks or strided rows of any dtype to
// and from the types that kernels compute in. Every store rounds once, to nearest, ties to even.
#pragma once

#include "simd.h"
#include "types.h"

namespace infini::cpu {

// ---- Vectors: load_f32<bf16>(p), store_f32(p, v) ------------------------------------------------

namespace detail {
template <class T, size_t count>
using Few = typename VectorOf<T, sizeof(T) * count>::type;
using U16x = Few<uint16_t, kWidth<float>>;

using U8x = Few<uint8_t, kWidth<float>>;

#if defined(__ARM_NEON)
// The compiler would convert half vectors, and vectors of four bytes, element by element.
INFINI_SIMD U32 widen(U16x x) { return U32(vmovl_u16(uint16x4_t(x))); }
INFINI_SIMD U32 widen(U8x x) {
    return U32(vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(as<uint32_t>(x))))));
}
INFINI_SIMD U8x narrow_to_bytes(U32 x) {
    uint16x4_t halves = vmovn_u32(x);
    uint8x8_t bytes = vmovn_u16(vcombine_u16(halves, halves));
    return as<U8x>(vget_lane_u32(vreinterpret_u32_u8(bytes), 0));
}
#else
INFINI_SIMD U32 widen(U16x x) { return cast<U32>(x); }
INFINI_SIMD U32 widen(U8x x) { return cast<U32>(x); }
INFINI_SIMD U8x narrow_to_bytes(U32 x) { return cast<U8x>(x); }
#endif

// Rounds floats to bfloat16, given as bits.
INFINI_SIMD U16x round_bf16(F32 x) {
#if defined(__ARM_NEON)
    // Rounds by an addition and takes the upper half; a NaN is not rounded and stays a NaN.
    const U32 u = as<U32>(x), number = as<U32>(x == x);
    const uint16x4_t upper = vaddhn_u32(u, (((u >> 16) & 1u) + 0x7fffu) & number);
    return U16x(vorr_u16(upper, vmovn_u32(~number & 0x40u)));
#else
    U32 u = as<U32>(x);
    U32 rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    U32 nan = (u >> 16) | 0x40u;
    return cast<U16x>(select(x != x, nan, rounded));
#endif
}
#if defined(__ARM_NEON)
// Two vectors at a time: most of the work is done on all eight elements together.
INFINI_SIMD uint16x8_t round_bf16(F32 a, F32 b) {
    const uint16x8_t u = uint16x8_t(as<U32>(a)), v = uint16x8_t(as<U32>(b));
    const uint16x8_t number = vuzp1q_u16(uint16x8_t(as<U32>(a == a)), uint16x8_t(as<U32>(b == b)));
    const uint16x8_t odd = vandq_u16(vuzp2q_u16(u, v), vdupq_n_u16(1));
    const uint16x8_t half = vandq_u16(vaddq_u16(odd, vdupq_n_u16(0x7fff)), number);
    const uint32x4_t low = vaddw_u16(uint32x4_t(u), vget_low_u16(half));
    const uint32x4_t high = vaddw_high_u16(uint32x4_t(v), half);
    const uint16x8_t upper = vuzp2q_u16(uint16x8_t(low), uint16x8_t(high));
    return vorrq_u16(upper, vbicq_u16(vdupq_n_u16(0x40), number));
}
#endif
}  // namespace detail

// Loads kWidth<float> elements of a storage type as floats.
template <class T>
INFINI_SIMD F32 load_f32(const T *p) {
    using namespace detail;
    if constexpr (std::is_same_v<T, float>) {
        return load<F32>(p);
    } else if constexpr (std::is_same_v<T, bf16>) {
#if defined(__ARM_NEON)
        return as<F32>(U32(vshll_n_u16(vld1_u16(&p->bits), 16)));
#else
        return as<F32>(widen(load<U16x>(&p->bits)) << 16);
#endif
    } else if constexpr (std::is_same_v<T, f16>) {
#if defined(__ARM_NEON)
        return F32(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits))));
#elif defined(__AVX512F__)
        return F32(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p))));
#elif defined(__F16C__)
        return F32(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p))));
#else
        U32 u = widen(load<U16x>(&p->bits)), magnitude = (u & 0x7fffu) << 13;
        U32 bits = as<U32>(as<F32>(magnitude) * 0x1p112f);
        bits |= U32(magnitude >= 0x0f800000u) & 0x7f800000u;
        return as<F32>(bits | ((u & 0x8000u) << 16));
#endif
    } else if constexpr (std::is_same_v<T, f8>) {
        U32 u = widen(load<U8x>(&p->bits)), magnitude = (u & 0x7fu) << 20;
        U32 bits = as<U32>(as<F32>(magnitude) * 0x1p120f);
        bits |= U32(magnitude == 0x07f00000u) & 0x7fc00000u;
        return as<F32>(bits | ((u & 0x80u) << 24));
    } else if constexpr (std::is_same_v<T, uint8_t>) {
        return cast<F32>(as<I32>(widen(load<U8x>(p))));
    } else if constexpr (std::is_same_v<T, int8_t>) {
        I32 i = as<I32>(U32(widen(load<U8x>(reinterpret_cast<const uint8_t *>(p))) << 24)) >> 24;
        return cast<F32>(i);
    } else if constexpr (std::is_integral_v<T>) {
        return cast<F32>(load<Few<T, kWidth<float>>>(p));
    } else {
        F32 v;
        for (size_t i = 0; i < kWidth<float>; ++i) v[i] = load_element<float>(p[i]);
        return v;
    }
}

template <class T>
INFINI_SIMD void store_f32(T *p, F32 x) {
    using namespace detail;
    if constexpr (std::is_same_v<T, float>) {
        store(p, x);
    } else if constexpr (std::is_same_v<T, bf16>) {
        store(&p->bits, round_bf16(x));
    } else if constexpr (std::is_same_v<T, f16>) {
#if defined(__ARM_NEON)
        vst1_u16(&p->bits, vreinterpret_u16_f16(vcvt_f16_f32(x)));
#elif defined(__AVX512F__)
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(p), _mm512_cvtps_ph(x, 0));
#elif defined(__F16C__)
        _mm_storeu_si128(reinterpret_cast<__m128i *>(p), _mm256_cvtps_ph(x, 0));
#else
        U32 u = as<U32>(x), sign = u & 0x80000000u;
        u ^= sign;
        U32 small = as<U32>(as<F32>(u) + 0.5f) - 0x3f000000u;
        U32 normal = (u + 0xc8000fffu + ((u >> 13) & 1u)) >> 13;
        U32 nan = ((u >> 13) & 0x3ffu) | 0x7e00u;
        U32 large = select(x != x, nan, broadcast<U32>(0x7c00u));
        I32 s = as<I32>(u);  // positive; signed comparisons are faster
        U32 half = select(s < 0x38800000, small, select(s < 0x47800000, normal, large));
        store(&p->bits, cast<U16x>(half | (sign >> 16)));
#endif
    } else if constexpr (std::is_same_v<T, f8>) {
        U32 u = as<U32>(x), sign = u & 0x80000000u;
        u ^= sign;
        I32 s = minimum(as<I32>(u), broadcast<I32>(0x43e00000));  // 448
        u = as<U32>(s);
        U32 small = as<U32>(as<F32>(u) + 0x1p14f) - 0x46800000u;
        U32 normal = (u + 0xc407ffffu + ((u >> 20) & 1u)) >> 20;
        U32 byte = select(s < 0x3c800000, small, normal);
        byte = select(x != x, broadcast<U32>(0x7fu), byte);
        store(&p->bits, narrow_to_bytes(byte | (sign >> 24)));
    } else {
        for (size_t i = 0; i < kWidth<float>; ++i) store_element(p[i], float(x[i]));
    }
}

// Two consecutive vectors.
struct TwoF32 {
    F32 first, second;
};
template <class T>
INFINI_SIMD TwoF32 load_two(const T *p) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<T, bf16>) {
        const uint16x8_t u = vld1q_u16(&p->bits);
        return {as<F32>(U32(vshll_n_u16(vget_low_u16(u), 16))),
                as<F32>(U32(vshll_high_n_u16(u, 16)))};
    }
#endif
    return {load_f32(p), load_f32(p + kWidth<float>)};
}
template <class T>
INFINI_SIMD void store_two(T *p, F32 first, F32 second) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<T, bf16>)
        return vst1q_u16(&p->bits, detail::round_bf16(first, second));
#endif
    store_f32(p, first);
    store_f32(p + kWidth<float>, second);
}

// Only the first n <= kWidth<float> elements.
template <class T>
INFINI_SIMD F32 load_f32(const T *p, size_t n) {
    T some[kWidth<float>] = {};
    for (size_t i = 0; i < n; ++i) some[i] = p[i];
    return load_f32(some);
}
template <class T>
INFINI_SIMD void store_f32(T *p, F32 x, size_t n) {
    T some[kWidth<float>];
    store_f32(some, x);
    for (size_t i = 0; i < n; ++i) p[i] = some[i];
}

// Loads kWidth<double> elements as doubles.
template <class T>
INFINI_SIMD F64 load_f64(const T *p) {
    if constexpr (std::is_same_v<T, double>) {
        return load<F64>(p);
    } else if constexpr (std::is_same_v<T, float>) {
        return cast<F64>(load<detail::Few<float, kWidth<double>>>(p));
    } else {
        F64 v;
        for (size_t i = 0; i < kWidth<double>; ++i) v[i] = load_element<double>(p[i]);
        return v;
    }
}
template <class T>
INFINI_SIMD void store_f64(T *p, F64 x) {
    if constexpr (std::is_same_v<T, double>)
        store(p, x);
    else if constexpr (std::is_same_v<T, float>)
        store(p, cast<detail::Few<float, kWidth<double>>>(x));
    else
        for (size_t i = 0; i < kWidth<double>; ++i) store_element(p[i], double(x[i]));
}

// ---- Blocks -------------------------------------------------------------------------------------

#if defined(__ARM_NEON)
namespace detail {
// Converts as many elements as fill whole 16-bit vectors; returns how many.
inline size_t load_bf16(float *dst, const bf16 *src, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16x8_t half = vld1q_u16(&src[i].bits);
        store(dst + i, as<F32>(U32(vshll_n_u16(vget_low_u16(half), 16))));
        store(dst + i + 4, as<F32>(U32(vshll_high_n_u16(half, 16))));
    }
    return i;
}
inline size_t store_bf16(bf16 *dst, const float *src, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        vst1q_u16(&dst[i].bits, round_bf16(load<F32>(src + i), load<F32>(src + i + 4)));
    return i;
}
}  // namespace detail
#endif

// C is the compute type: float, double, int32_t or int64_t.
template <class C, class T>
inline void load_block(C *__restrict dst, const T *__restrict src, size_t n) {
    size_t i = 0;
    if constexpr (std::is_same_v<C, T>) {
        if (n) std::memcpy(dst, src, n * sizeof(T));
        return;
    } else if constexpr (std::is_same_v<C, float> && kIsSmallFloat<T>) {
#if defined(__ARM_NEON)
        if constexpr (std::is_same_v<T, bf16>) i = detail::load_bf16(dst, src, n);
#endif
        for (; i + kWidth<float> <= n; i += kWidth<float>) store(dst + i, load_f32(src + i));
    }
    for (; i < n; ++i) dst[i] = load_element<C>(src[i]);
}
template <class T, class C>
inline void store_block(T *__restrict dst, const C *__restrict src, size_t n) {
    size_t i = 0;
    if constexpr (std::is_same_v<C, T>) {
        if (n) std::memcpy(dst, src, n * sizeof(T));
        return;
    } else if constexpr (std::is_same_v<C, float> && kIsSmallFloat<T>) {
#if defined(__ARM_NEON)
        if constexpr (std::is_same_v<T, bf16>) i = detail::store_bf16(dst, src, n);
#endif
        for (; i + kWidth<float> <= n; i += kWidth<float>) store_f32(dst + i, load<F32>(src + i));
    }
    for (; i < n; ++i) store_element(dst[i], src[i]);
}

// Every second element, as of the parts of complex numbers: loops over a constant stride become
// shuffles of vectors.
template <class C, class T>
inline void load_alternate(C *__restrict dst, const T *__restrict src, size_t n) {
    constexpr size_t kPart = 64;
    using U = std::conditional_t<sizeof(T) == 2, uint16_t, T>;  // known to be copied by bits
    U part[kPart];
    for (; n >= kPart; n -= kPart, dst += kPart, src += 2 * kPart) {
        const U *at = reinterpret_cast<const U *>(src);
        for (size_t i = 0; i < kPart; ++i) part[i] = at[2 * i];
        for (size_t i = 0; i < kPart; i += kWidth<float>) {
            const T *from = reinterpret_cast<const T *>(part) + i;
            if constexpr (std::is_same_v<C, float> && kIsSmallFloat<T>)
                store(dst + i, load_f32(from));
            else
                for (size_t j = 0; j < kWidth<float>; ++j) dst[i + j] = load_element<C>(from[j]);
        }
    }
    for (size_t i = 0; i < n; ++i, src += 2) dst[i] = load_element<C>(*src);
}

// Strides belong to the tensor and are in elements; 0 repeats one element.
template <class C, class T>
inline void load_strided(C *__restrict dst, const T *__restrict src, size_t n, ptrdiff_t stride) {
    if (stride == 1) return load_block(dst, src, n);
    if (stride == 0) {
        if (n == 0) return;
        const C value = load_element<C>(*src);
        for (size_t i = 0; i < n; ++i) dst[i] = value;
        return;
    }
    if (sizeof(T) > 1 && stride == 2) return load_alternate(dst, src, n);
    for (size_t i = 0; i < n; ++i, src += stride) dst[i] = load_element<C>(*src);
}
template <class T, class C>
inline void store_strided(T *__restrict dst, const C *__restrict src, size_t n, ptrdiff_t stride) {
    if (stride == 1) return store_block(dst, src, n);
    for (size_t i = 0; i < n; ++i, dst += stride) store_element(*dst, src[i]);
}

// ---- By dtype -----------------------------------------------------------------------------------

// Not inline: each caller would contain fourteen loops.
template <class C>
[[gnu::noinline]] void load_dtype(C *dst, const void *src, int dtype, size_t n, ptrdiff_t stride) {
    visit_dtype(dtype, [=]<class T>(Type<T>) {
        load_strided(dst, static_cast<const T *>(src), n, stride);
    });
}
template <class C>
[[gnu::noinline]] void store_dtype(void *dst, int dtype, const C *src, size_t n, ptrdiff_t stride) {
    visit_dtype(dtype,
                [=]<class T>(Type<T>) { store_strided(static_cast<T *>(dst), src, n, stride); });
}

inline void to_f32(float *dst, const void *src, int dtype, size_t n, ptrdiff_t stride = 1) {
    load_dtype(dst, src, dtype, n, stride);
}
inline void to_f64(double *dst, const void *src, int dtype, size_t n, ptrdiff_t stride = 1) {
    load_dtype(dst, src, dtype, n, stride);
}
inline void to_i32(int32_t *dst, const void *src, int dtype, size_t n, ptrdiff_t stride = 1) {
    load_dtype(dst, src, dtype, n, stride);
}
inline void to_i64(int64_t *dst, const void *src, int dtype, size_t n, ptrdiff_t stride = 1) {
    load_dtype(dst, src, dtype, n, stride);
}
inline void from_f32(void *dst, int dtype, const float *src, size_t n, ptrdiff_t stride = 1) {
    store_dtype(dst, dtype, src, n, stride);
}
inline void from_f64(void *dst, int dtype, const double *src, size_t n, ptrdiff_t stride = 1) {
    store_dtype(dst, dtype, src, n, stride);
}
inline void from_i32(void *dst, int dtype, const int32_t *src, size_t n, ptrdiff_t stride = 1) {
    store_dtype(dst, dtype, src, n, stride);
}
inline void from_i64(void *dst, int dtype, const int64_t *src, size_t n, ptrdiff_t stride = 1) {
    store_dtype(dst, dtype, src, n, stride);
}

}  // namespace infini::cpu
