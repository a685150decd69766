// A loop for each pair of common types, which the compiler vectorises. 16-bit floats go through a
// block of float, converted by the vector functions of convert.h.
#include "program/cast.h"

#include <algorithm>
#include <type_traits>

#include "convert.h"

namespace infini::cpu::program {
namespace {

constexpr size_t kCastBlock = 512;  // elements that fit in L1

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <class T, class U>
[[gnu::noinline]] void cast_loop(const T *from, U *to, size_t n) {
    using C = std::conditional_t<std::is_same_v<T, boolean>, uint8_t, T>;
    for (size_t i = 0; i < n; ++i) store_element(to[i], load_element<C>(from[i]));
}

// Rounds to odd, so that a conversion to 16 bits rounds only once.
[[gnu::noinline]] void odd_floats(const double *from, float *to, size_t n) {
    size_t i = 0;
#if defined(__ARM_NEON)
    for (; i + 2 <= n; i += 2) vst1_f32(to + i, vcvtx_f32_f64(vld1q_f64(from + i)));
#endif
    for (; i < n; ++i) to[i] = round_to_odd(from[i]);
}

#if defined(__ARM_NEON)
// NEON's conversions saturate, and give 0 for NaN, as `saturated` does.
[[gnu::noinline]] void cast_loop(const double *from, int64_t *to, size_t n) {
    size_t i = 0;
    for (; i + 2 <= n; i += 2) vst1q_s64(to + i, vcvtq_s64_f64(vld1q_f64(from + i)));
    for (; i < n; ++i) to[i] = vcvtd_s64_f64(from[i]);
}

// Converts four elements to 32-bit integers.
inline int32x4_t four(const float *p) { return vcvtq_s32_f32(vld1q_f32(p)); }
inline int32x4_t four(const f16 *p) {
    return vcvtq_s32_f32(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits))));
}
inline int32x4_t four(const bf16 *p) {
    return vcvtq_s32_f32(vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p->bits), 16)));
}
inline int32x4_t four(const double *p) {
    auto two = [](const double *at) { return vqmovn_s64(vcvtq_s64_f64(vld1q_f64(at))); };
    return vcombine_s32(two(p), two(p + 2));
}

inline int16x8_t eight(int32x4_t a, int32x4_t b) { return vqmovn_high_s32(vqmovn_s32(a), b); }
inline void put_sixteen(int32_t *to, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
    vst1q_s32(to, a), vst1q_s32(to + 4, b), vst1q_s32(to + 8, c), vst1q_s32(to + 12, d);
}
inline void put_sixteen(int16_t *to, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
    vst1q_s16(to, eight(a, b)), vst1q_s16(to + 8, eight(c, d));
}
inline void put_sixteen(int8_t *to, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
    vst1q_s8(to, vqmovn_high_s16(vqmovn_s16(eight(a, b)), eight(c, d)));
}
inline void put_sixteen(uint8_t *to, int32x4_t a, int32x4_t b, int32x4_t c, int32x4_t d) {
    vst1q_u8(to, vqmovun_high_s16(vqmovun_s16(eight(a, b)), eight(c, d)));
}

// Each step saturates to the range of the next narrower type.
template <class T, class U>
    requires requires(const T *from, U *to, int32x4_t v) { put_sixteen(to, four(from), v, v, v); }
[[gnu::noinline]] void cast_loop(const T *from, U *to, size_t n) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16)
        put_sixteen(to + i, four(from + i), four(from + i + 4), four(from + i + 8),
                    four(from + i + 12));
    for (; i < n; ++i)
        store_element(
            to[i],
            load_element<std::conditional_t<std::is_same_v<T, double>, double, float>>(from[i]));
}
// Whether elements are nonzero, ignoring the sign.
template <class T>
    requires kIsHalf<T>
[[gnu::noinline]] void cast_loop(const T *from, boolean *to, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const uint16x8_t bits = vshlq_n_u16(vld1q_u16(&from[i].bits), 1);
        vst1_u8(&to[i].bits, vand_u8(vmovn_u16(vtstq_u16(bits, bits)), vdup_n_u8(1)));
    }
    for (; i < n; ++i) store_element(to[i], load_element<float>(from[i]));
}
void cast_loop(const float *from, int64_t *to, size_t n) {
    double block[kCastBlock];
    for (size_t i = 0; i < n; i += kCastBlock) {
        const size_t count = std::min(kCastBlock, n - i);
        cast_loop(from + i, block, count);
        cast_loop(static_cast<const double *>(block), to + i, count);
    }
}
#endif

// Whether there is a loop that needs no block of floats.
template <class T, class U>
inline constexpr bool kCastsHalves =
#if defined(__ARM_NEON)
    kIsHalf<T> && (std::is_same_v<U, boolean> || (std::is_integral_v<U> && sizeof(U) <= 4));
#else
    false;
#endif

template <class T, class U>
void cast_block(const T *from, U *to, size_t n) {
    if constexpr (kIsHalf<T> && std::is_same_v<U, float>) {
        load_block(to, from, n);
    } else if constexpr (kIsHalf<U> && std::is_same_v<T, float>) {
        store_block(to, from, n);
    } else if constexpr (kCastsHalves<T, U>) {
        cast_loop(from, to, n);
    } else if constexpr (kIsHalf<T> || kIsHalf<U>) {
        float block[kCastBlock];
        for (size_t i = 0; i < n; i += kCastBlock) {
            const size_t count = std::min(kCastBlock, n - i);
            if constexpr (std::is_same_v<T, double>)
                odd_floats(from + i, block, count);
            else
                cast_block(from + i, block, count);
            cast_block(static_cast<const float *>(block), to + i, count);
        }
    } else {
        cast_loop(from, to, n);
    }
}

template <class T, class U>
void cast(const void *const *in, const ptrdiff_t *step, void *const *out, size_t n) {
    const T *from = static_cast<const T *>(in[0]);
    U *to = static_cast<U *>(out[0]);
    if (step[0]) return cast_block(from, to, n);
    U shared;
    cast_block(from, &shared, 1);
    std::fill_n(to, n, shared);
}

template <class F>
BlockFunction with_common(int dtype, F &&f) {
    switch (dtype) {
        case INFINI_DTYPE_BOOL:
            return f(Type<boolean>{});
        case INFINI_DTYPE_U8:
            return f(Type<uint8_t>{});
        case INFINI_DTYPE_I8:
            return f(Type<int8_t>{});
        case INFINI_DTYPE_I16:
            return f(Type<int16_t>{});
        case INFINI_DTYPE_I32:
            return f(Type<int32_t>{});
        case INFINI_DTYPE_I64:
            return f(Type<int64_t>{});
        case INFINI_DTYPE_F16:
            return f(Type<f16>{});
        case INFINI_DTYPE_BF16:
            return f(Type<bf16>{});
        case INFINI_DTYPE_F32:
            return f(Type<float>{});
        case INFINI_DTYPE_F64:
            return f(Type<double>{});
        default:
            return nullptr;
    }
}

}  // namespace

BlockFunction cast_function(int from, int to) {
    return with_common(from, [to]<class T>(Type<T>) {
        return with_common(to, []<class U>(Type<U>) -> BlockFunction {
            if constexpr (std::is_same_v<T, U>)
                return nullptr;
            else
                return cast<T, U>;
        });
    });
}

}  // namespace infini::cpu::program
