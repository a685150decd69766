// Interleaved GGUF weights in vectors with a lane per row: their codes, scales and minima, and
// products with the codes of the input. Only for machines with byte dot products.
#pragma once

#include "gguf_blocks.h"

#if defined(__ARM_NEON) || defined(__AVX2__)
#define INFINI_GGUF_VECTORS 1

namespace infini::cpu {

#if defined(__ARM_NEON)
inline constexpr int kGgufLanes = 4;
#else
inline constexpr int kGgufLanes = 8;
#endif
inline constexpr int kGgufVectors = kGgufRows / kGgufLanes;  // per group of rows
typedef float GgufFloats __attribute__((vector_size(kGgufLanes * 4)));
typedef int32_t GgufInts __attribute__((vector_size(kGgufLanes * 4)));
typedef uint32_t GgufWords __attribute__((vector_size(kGgufLanes * 4)));
typedef uint8_t GgufBytes __attribute__((vector_size(kGgufLanes * 4)));
typedef uint16_t GgufHalves __attribute__((vector_size(kGgufLanes * 2)));

// ---- Arithmetic ---------------------------------------------------------------------------------

#if defined(__ARM_NEON)
INFINI_SIMD GgufFloats gguf_widen(GgufHalves bits) {
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
}
INFINI_SIMD GgufFloats gguf_fma(GgufFloats a, GgufFloats b, GgufFloats c) {
    return vfmaq_f32(c, a, b);
}

// Sums of products below 2^22 start with the bits of 1.5 * 2^23, so that they are the bits of a
// float: subtracting is faster than converting.
inline constexpr int32_t kGgufStart = 0x4b400000;
INFINI_SIMD GgufFloats gguf_number(GgufInts sum) { return as<GgufFloats>(sum) - 0x1.8p23f; }

// sum + the products of four codes of each row with word `word` of x.
template <int word, bool kSigned>
INFINI_SIMD GgufInts gguf_dot(GgufInts sum, GgufBytes w, const int8_t *x) {
    const int8x16_t codes = vreinterpretq_s8_u8(w), words = vld1q_s8(x + word / 4 * 16);
#if defined(__ARM_FEATURE_DOTPROD)
    return vdotq_laneq_s32(sum, codes, words, word % 4);
#else
    const int8x16_t four =
        vreinterpretq_s8_s32(vdupq_laneq_s32(vreinterpretq_s32_s8(words), word % 4));
    const int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(codes), vget_low_s8(four)));
    const int32x4_t high = vpaddlq_s16(vmull_high_s8(codes, four));
    return vaddq_s32(sum, vpaddq_s32(low, high));
#endif
}
#else
INFINI_SIMD GgufFloats gguf_widen(GgufHalves bits) { return _mm256_cvtph_ps(as<__m128i>(bits)); }
INFINI_SIMD GgufFloats gguf_fma(GgufFloats a, GgufFloats b, GgufFloats c) {
    return _mm256_fmadd_ps(a, b, c);
}
inline constexpr int32_t kGgufStart = 0;
INFINI_SIMD GgufFloats gguf_number(GgufInts sum) {
    return __builtin_convertvector(sum, GgufFloats);
}

INFINI_SIMD int gguf_four(const int8_t *x) {
    int four;
    std::memcpy(&four, x, sizeof four);
    return four;
}

// The codes are unsigned or, if kSigned, signed like those of x.
template <int word, bool kSigned>
INFINI_SIMD GgufInts gguf_dot(GgufInts sum, GgufBytes w, const int8_t *x) {
    __m256i four = _mm256_set1_epi32(gguf_four(x + 4 * word)), codes = as<__m256i>(w);
    if constexpr (kSigned) four = _mm256_sign_epi8(four, codes), codes = _mm256_abs_epi8(codes);
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    return as<GgufInts>(_mm256_dpbusd_epi32(as<__m256i>(sum), codes, four));
#else
    const __m256i pairs = _mm256_maddubs_epi16(codes, four);
    return sum + as<GgufInts>(_mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#endif
}
#endif

// ---- Blocks -------------------------------------------------------------------------------------

// A unit's factors.
struct GgufFactorLanes {
    GgufFloats scale, minimum;
    GgufInts part[2];
};

// Interleaved blocks of the rows in vector `v` of a group.
template <int format>
class GgufBlocks {
    using G = Gguf<format>;

public:
    INFINI_SIMD GgufBlocks(const uint8_t *blocks, int v) : blocks_(blocks), v_(v) {
        scale_ = half(G::kHasParts ? 208 : 0);
        if constexpr (G::kHasMinimum) minimum_ = G::kLarge ? -half(2) : half(2);
        if constexpr (G::kLarge && !G::kHasParts) {
            // Six bits each: the words hold the scales of units 0 to 3 and of 4 to 7, and likewise
            // the minima.
            const GgufBytes low = word(4), middle = word(8), high = word(12);
            scales_[0] = as<GgufWords>(low & 63);
            scales_[1] = as<GgufWords>((high & 15) | (low >> 6) << 4);
            minima_[0] = as<GgufWords>(middle & 63);
            minima_[1] = as<GgufWords>(high >> 4 | (middle >> 6) << 4);
        }
    }

    // The codes of elements [4 g, 4 g + 4) of unit j of the block; only those of Q8_0 are signed.
    INFINI_SIMD GgufBytes codes(int j, int g) const {
        if constexpr (format == kQ8_0) {
            return word(2 + 4 * g);
        } else if constexpr (format == kQ6_K) {
            const int half = j / 4, quarter = j % 4;
            const GgufBytes pairs = word(64 * half + quarter % 2 * 32 + 4 * g);
            const GgufBytes high = word(128 + 32 * half + 4 * g) >> (2 * quarter);
            return nibble(pairs, quarter / 2) | (high & 3) << 4;
        } else if constexpr (G::kLarge) {
            const GgufBytes low = nibble(word(int(G::kBytes) - 128 + j / 2 * 32 + 4 * g), j % 2);
            if constexpr (!G::kFiveBits) return low;
            return low | (word(16 + 4 * g) >> j & 1) << 4;
        } else {
            const GgufBytes low = nibble(word(int(G::kBytes) - 16 + g % 4 * 4), g / 4);
            if constexpr (!G::kFiveBits) return low;
            // Moves four bits of a word to the fifth bits of its bytes.
            const GgufWords bits = as<GgufWords>(word(int(G::kBytes) - 20)) >> (4 * g) & 15;
            return low | as<GgufBytes>((bits * 0x00204081u & 0x01010101u) << 4);
        }
    }

    // The factors of unit j of the block.
    INFINI_SIMD GgufFactorLanes factors(int j) const {
        GgufFactorLanes f;
        f.scale = scale_;
        if constexpr (G::kHasMinimum) f.minimum = minimum_;
        if constexpr (G::kHasParts) {
            const GgufInts four = as<GgufInts>(word(192 + j / 2 * 4));
            for (int i = 0; i < 2; ++i) f.part[i] = four << (24 - j % 2 * 16 - i * 8) >> 24;
        } else if constexpr (G::kLarge) {
            f.scale *= byte(scales_[j / 4], j % 4);
            f.minimum *= byte(minima_[j / 4], j % 4);
        }
        return f;
    }

private:
    INFINI_SIMD GgufBytes word(int at) const {
        return load<GgufBytes>(blocks_ + at * kGgufRows + v_ * kGgufLanes * 4);
    }
    INFINI_SIMD GgufFloats half(int at) const {
        const uint8_t *from = blocks_ + at * kGgufRows + v_ * kGgufLanes * 2;
        GgufHalves bits;
        std::memcpy(&bits, from, sizeof bits);
        return gguf_widen(bits);
    }
    INFINI_SIMD static GgufBytes nibble(GgufBytes pairs, int upper) {
        return upper ? pairs >> 4 : pairs & 15;
    }
    INFINI_SIMD static GgufFloats byte(GgufWords words, int i) {
        return __builtin_convertvector(as<GgufInts>(words >> (8 * i) & 255), GgufFloats);
    }

    const uint8_t *blocks_;
    int v_;
    GgufFloats scale_, minimum_;
    GgufWords scales_[2], minima_[2];
};

}  // namespace infini::cpu

#endif
