// Copies of rows, and range checks of lengths and positions in tensors.
#pragma once

#include <algorithm>
#include <cstring>

#include "../convert.h"

namespace infini::cpu {

// Copies `count` rows of n elements of `size` bytes (2 or 4). Strides are in elements.
inline void copy_rows(char *dst, int64_t dst_row, int64_t dst_inner, const char *src,
                      int64_t src_row, int64_t src_inner, int64_t count, int64_t n, int64_t size) {
    bool dense = (dst_inner == 1 && src_inner == 1) || n == 1;
    if (dense && dst_row == n && src_row == n) n *= count, count = count > 0;
    for (int64_t r = 0; r < count; ++r, dst += dst_row * size, src += src_row * size) {
        if (dense) {
            std::memcpy(dst, src, size_t(n * size));
            continue;
        }
        for (int64_t i = 0; i < n; ++i)
            std::memcpy(dst + i * dst_inner * size, src + i * src_inner * size, size_t(size));
    }
}

// load_f32; for BF16 it takes one instruction besides the load.
template <class T>
INFINI_SIMD F32 load_wide_f32(const T *p) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<T, bf16>)
        return F32(vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p->bits), 16)));
#endif
    return load_f32(p);
}

// store_f32; for the same reason.
template <class T>
INFINI_SIMD void store_narrow_f32(T *p, F32 x) {
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<T, bf16>) {
        uint32x4_t u = vreinterpretq_u32_f32(x);
        uint32x4_t odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
        uint32x4_t rounded = vaddq_u32(vaddq_u32(u, odd), vdupq_n_u32(0x7fff));
        uint32x4_t nan = vorrq_u32(u, vdupq_n_u32(0x400000));
        vst1_u16(&p->bits, vshrn_n_u32(vbslq_u32(vceqq_f32(x, x), rounded, nan), 16));
        return;
    }
#endif
    store_f32(p, x);
}

// A row of floats from a row of T.
template <class T>
inline void load_floats(float *to, const T *from, int64_t n, int64_t stride) {
    if (stride != 1) return load_strided(to, from, size_t(n), stride);
    const int64_t whole = n / int64_t(kWidth<float>) * int64_t(kWidth<float>);
    int64_t i = 0;
    for (; i < whole; i += kWidth<float>) store(to + i, load_wide_f32(from + i));
    for (; i < n; ++i) to[i] = load_element<float>(from[i]);
}

// Rows of a constant length that is a multiple of the vector width.
template <int64_t n, class T>
INFINI_SIMD void load_row(float *to, const T *from) {
    static_assert(n % int64_t(kWidth<float>) == 0);
    for (int64_t i = 0; i < n; i += kWidth<float>) store(to + i, load_wide_f32(from + i));
}
template <int64_t n, class T>
INFINI_SIMD void store_row(T *to, const float *from) {
    static_assert(n % int64_t(kWidth<float>) == 0);
    for (int64_t i = 0; i < n; i += kWidth<float>) store_f32(to + i, load(from + i));
}

// Clamps a length, or a bound of a range, to 0 .. most.
inline int64_t limited(int dtype, const void *data, int64_t index, int64_t most) {
    return std::clamp<int64_t>(load_as<int64_t>(dtype, data, index), 0, most);
}

inline int64_t element_bytes(int dtype) { return dtype == INFINI_DTYPE_F32 ? 4 : 2; }

}  // namespace infini::cpu
