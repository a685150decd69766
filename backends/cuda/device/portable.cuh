// The functions of ptx.cuh in plain C++, for compilers without inline PTX, and the kernel prologue.
#pragma once

#ifndef INFINI_ENTRY
#define INFINI_ENTRY(Params, threads, blocks)                                            \
    static __device__ __forceinline__ void infini_body(const Params &p);                 \
    extern "C" __global__ void __launch_bounds__(threads) infini_entry(const Params p) { \
        infini_body(p);                                                                  \
    }                                                                                    \
    static __device__ __forceinline__ void infini_body(const Params &p)
#define INFINI_DYNAMIC_SHARED(name) extern __shared__ unsigned char name[]
#endif

namespace infini::ptx {

INFINI_DEVICE uint32_t float_bits(float x) { return __float_as_uint(x); }

INFINI_DEVICE float exp2_approx(float x) { return ::exp2f(x); }
INFINI_DEVICE float reciprocal_approx(float x) { return 1.0f / x; }
INFINI_DEVICE float divide_full(float a, float b) { return a / b; }
INFINI_DEVICE float sqrt_approx(float x) { return ::sqrtf(x); }
INFINI_DEVICE float rsqrt_approx(float x) { return 1.0f / ::sqrtf(x); }
INFINI_DEVICE float select_below(float x, float limit, float a, float b) {
    return x < limit ? a : b;
}
// NaN propagates.
INFINI_DEVICE float max_nan(float a, float b) { return a > b || a != a ? a : b; }
INFINI_DEVICE float min_nan(float a, float b) { return a < b || a != a ? a : b; }

// ---- 16-bit floats, as their bits ---------------------------------------------------------------

INFINI_DEVICE float float_from_bf16(uint16_t x) { return __uint_as_float(uint32_t(x) << 16); }

// The exponent is shifted to its position in a float; multiplying by 2^112 adjusts the bias, also
// of subnormals.
INFINI_DEVICE float float_from_f16(uint16_t x) {
    const uint32_t sign = uint32_t(x & 0x8000) << 16, rest = uint32_t(x & 0x7fff) << 13;
    const float scaled = __uint_as_float(rest) * 5.192296858534828e33f;  // 2^112
    const uint32_t bits = (x & 0x7c00) == 0x7c00 ? rest | 0x7f800000 : float_bits(scaled);
    return __uint_as_float(bits | sign);
}

// Rounds to nearest, ties to even; NaN stays NaN.
INFINI_DEVICE uint16_t f16_from_float(float x) {
    const uint32_t sign = float_bits(x) >> 16 & 0x8000, word = float_bits(x) & 0x7fffffff;
    uint32_t half;
    if (word >= 0x47800000)  // 65536 and above
        half = word > 0x7f800000 ? 0x7e00 : 0x7c00;
    else if (word < 0x38800000)  // subnormal: adding 0.5 moves the rounded bits to the end
        half = float_bits(__uint_as_float(word) + 0.5f) - 0x3f000000;
    else
        half = (word - 0x38000000 + 0xfff + (word >> 13 & 1)) >> 13;
    return uint16_t(half | sign);
}
INFINI_DEVICE uint16_t bf16_from_float(float x) {
    const uint32_t word = float_bits(x);
    return uint16_t(x != x ? word >> 16 | 0x40 : (word + 0x7fff + (word >> 16 & 1)) >> 16);
}
INFINI_DEVICE uint32_t f16x2_from_floats(float low, float high) {
    return f16_from_float(low) | uint32_t(f16_from_float(high)) << 16;
}
INFINI_DEVICE uint32_t bf16x2_from_floats(float low, float high) {
    return bf16_from_float(low) | uint32_t(bf16_from_float(high)) << 16;
}

// Applies a function of floats to both halves of two words.
#define INFINI_HALVES(name, type, function)                                                       \
    INFINI_DEVICE uint32_t name(uint32_t a, uint32_t b) {                                         \
        const float low =                                                                         \
            function(float_from_##type(uint16_t(a)), float_from_##type(uint16_t(b)));             \
        const float high =                                                                        \
            function(float_from_##type(uint16_t(a >> 16)), float_from_##type(uint16_t(b >> 16))); \
        return type##x2_from_floats(low, high);                                                   \
    }
INFINI_DEVICE float difference(float a, float b) { return a - b; }
INFINI_HALVES(max_nan_f16x2, f16, max_nan)
INFINI_HALVES(min_nan_f16x2, f16, min_nan)
INFINI_HALVES(max_nan_bf16x2, bf16, max_nan)
INFINI_HALVES(min_nan_bf16x2, bf16, min_nan)
INFINI_HALVES(subtract_f16x2, f16, difference)
INFINI_HALVES(subtract_bf16x2, bf16, difference)
#undef INFINI_HALVES

INFINI_DEVICE void load_past_l1(uint32_t (&words)[4], const void *from) {
    const uint4 read = *static_cast<const uint4 *>(from);
    words[0] = read.x, words[1] = read.y, words[2] = read.z, words[3] = read.w;
}

}  // namespace infini::ptx
