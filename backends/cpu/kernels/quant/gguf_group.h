// Several rows of GGUF weights side by side, in vectors: codes of 32 elements for each row, and
// their scales and minima with a lane for each row. Only where bytes can be multiplied in vectors.
#pragma once

#include "gguf_blocks.h"

#if defined(__ARM_NEON) || defined(__AVX2__)
#define INFINI_GGUF_VECTORS 1

namespace infini::cpu {

// Rows of a group: one for each lane of a vector of I32.
#if defined(__ARM_NEON)
inline constexpr int kGgufGroup = 4;
#else
inline constexpr int kGgufGroup = 8;
#endif
typedef float GgufFloats __attribute__((vector_size(kGgufGroup * 4)));
typedef int32_t GgufInts __attribute__((vector_size(kGgufGroup * 4)));
typedef uint16_t GgufHalves __attribute__((vector_size(kGgufGroup * 2)));

#if defined(__ARM_NEON)
// The codes of a unit: elements 0 to 15, and 16 to 31.
struct GgufCodes {
    uint8x16_t first, second;
};

INFINI_SIMD GgufFloats gguf_halves(GgufHalves bits) {
    return vcvt_f32_f16(vreinterpret_f16_u16(bits));
}
INFINI_SIMD GgufFloats gguf_fma(GgufFloats a, GgufFloats b, GgufFloats c) {
    return vfmaq_f32(c, a, b);
}

// Sums of products below 2^22 begin with the bits of 1.5 * 2^23, so that their own bits are those
// of a float: to subtract is quicker than to convert.
inline constexpr int32_t kGgufStart = 0x4b400000;
INFINI_SIMD GgufFloats gguf_number(GgufInts sum) { return as<GgufFloats>(sum) - 0x1.8p23f; }
#else
inline constexpr int32_t kGgufStart = 0;
struct GgufCodes {
    __m256i all;
};

INFINI_SIMD GgufFloats gguf_halves(GgufHalves bits) { return _mm256_cvtph_ps(as<__m128i>(bits)); }
INFINI_SIMD GgufFloats gguf_fma(GgufFloats a, GgufFloats b, GgufFloats c) {
    return _mm256_fmadd_ps(a, b, c);
}
#endif

// ---- Codes --------------------------------------------------------------------------------------

// The codes of unit `j` of a block; only those of Q8_0 are signed. Q6_K's are less 32, so signed,
// too, if `kCentred`.
template <int format, bool kCentred>
INFINI_SIMD GgufCodes gguf_load_codes(const uint8_t *block, int j) {
    using G = Gguf<format>;
#if defined(__ARM_NEON)
    const uint8x16_t low = vdupq_n_u8(15);
    uint8x16_t first, second;
    if constexpr (format == kQ8_0) {
        return {vld1q_u8(block + 2), vld1q_u8(block + 18)};
    } else if constexpr (format == kQ6_K) {
        const int half = j / 4, quarter = j % 4;
        const uint8_t *nibbles = block + 64 * half + quarter % 2 * 32;
        first = vld1q_u8(nibbles), second = vld1q_u8(nibbles + 16);
        if (quarter < 2) {
            first = vandq_u8(first, low), second = vandq_u8(second, low);
        } else {
            first = vshrq_n_u8(first, 4), second = vshrq_n_u8(second, 4);
        }
        const int8x16_t shift = vdupq_n_s8(int8_t(4 - 2 * quarter));
        const uint8x16_t mask = vdupq_n_u8(0x30);
        const uint8_t *pairs = block + 128 + 32 * half;
        first = vorrq_u8(first, vandq_u8(vshlq_u8(vld1q_u8(pairs), shift), mask));
        second = vorrq_u8(second, vandq_u8(vshlq_u8(vld1q_u8(pairs + 16), shift), mask));
        if constexpr (kCentred) {
            first = vsubq_u8(first, vdupq_n_u8(32)), second = vsubq_u8(second, vdupq_n_u8(32));
        }
    } else if constexpr (G::kLarge) {
        const uint8_t *nibbles = block + G::kBytes - 128 + j / 2 * 32;
        first = vld1q_u8(nibbles), second = vld1q_u8(nibbles + 16);
        if (j % 2 == 0) {
            first = vandq_u8(first, low), second = vandq_u8(second, low);
        } else {
            first = vshrq_n_u8(first, 4), second = vshrq_n_u8(second, 4);
        }
        if constexpr (G::kFiveBits) {
            const int8x16_t shift = vdupq_n_s8(int8_t(4 - j));
            const uint8x16_t bit = vdupq_n_u8(16);
            first = vorrq_u8(first, vandq_u8(vshlq_u8(vld1q_u8(block + 16), shift), bit));
            second = vorrq_u8(second, vandq_u8(vshlq_u8(vld1q_u8(block + 32), shift), bit));
        }
    } else {
        const uint8x16_t pairs = vld1q_u8(block + G::kBytes - 16);
        first = vandq_u8(pairs, low), second = vshrq_n_u8(pairs, 4);
        if constexpr (G::kFiveBits) {
            uint32_t bits;
            std::memcpy(&bits, block + G::kBytes - 20, sizeof bits);
            const uint8x16_t spread = vreinterpretq_u8_u32(vdupq_n_u32(bits));
            const uint8x16_t each = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
            const uint8x16_t at = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
            const uint8x16_t there = vqtbl1q_u8(spread, at);
            const uint8x16_t then = vqtbl1q_u8(spread, vaddq_u8(at, vdupq_n_u8(2)));
            const uint8x16_t bit = vdupq_n_u8(16);
            first = vorrq_u8(first, vandq_u8(vtstq_u8(there, each), bit));
            second = vorrq_u8(second, vandq_u8(vtstq_u8(then, each), bit));
        }
    }
    return {first, second};
#else
    const auto load = [](const uint8_t *from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from));
    };
    const __m256i low = _mm256_set1_epi8(15);
    __m256i codes;
    if constexpr (format == kQ8_0) {
        return {load(block + 2)};
    } else if constexpr (format == kQ6_K) {
        const int half = j / 4, quarter = j % 4;
        codes = load(block + 64 * half + quarter % 2 * 32);
        codes = _mm256_and_si256(_mm256_srli_epi16(codes, quarter / 2 * 4), low);
        const __m256i pairs = _mm256_srli_epi16(load(block + 128 + 32 * half), 2 * quarter);
        const __m256i two = _mm256_and_si256(pairs, _mm256_set1_epi8(3));
        codes = _mm256_or_si256(codes, _mm256_slli_epi16(two, 4));
        if constexpr (kCentred) codes = _mm256_sub_epi8(codes, _mm256_set1_epi8(32));
    } else if constexpr (G::kLarge) {
        codes = load(block + G::kBytes - 128 + j / 2 * 32);
        codes = _mm256_and_si256(_mm256_srli_epi16(codes, j % 2 * 4), low);
        if constexpr (G::kFiveBits) {
            const __m256i bits = _mm256_srli_epi16(load(block + 16), j);
            const __m256i one = _mm256_and_si256(bits, _mm256_set1_epi8(1));
            codes = _mm256_or_si256(codes, _mm256_slli_epi16(one, 4));
        }
    } else {
        const __m128i pairs =
            _mm_loadu_si128(reinterpret_cast<const __m128i *>(block + G::kBytes - 16));
        codes = _mm256_set_m128i(_mm_srli_epi16(pairs, 4), pairs);
        codes = _mm256_and_si256(codes, low);
        if constexpr (G::kFiveBits) {
            int bits;
            std::memcpy(&bits, block + G::kBytes - 20, sizeof bits);
            const __m256i at =
                _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
            const __m256i each = _mm256_set1_epi64x(int64_t(0x8040201008040201));
            const __m256i there = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), at);
            const __m256i is_set = _mm256_cmpeq_epi8(_mm256_and_si256(there, each), each);
            codes = _mm256_or_si256(codes, _mm256_and_si256(is_set, _mm256_set1_epi8(16)));
        }
    }
    return {codes};
#endif
}

// ---- Scales -------------------------------------------------------------------------------------

// A unit's factors, a lane for each row.
struct GgufLanes {
    GgufFloats scale, minimum;
    GgufInts part[2];
};

template <int format>
struct GgufGroup {
    using G = Gguf<format>;
    static constexpr int kUnits = G::kLarge ? 8 : 1;  // of a block

    const uint8_t *row[kGgufGroup];
    GgufLanes lanes[kUnits];  // of the block that was prepared last

    // Rows from `first` on of `count`; those beyond the last are the last one again.
    GgufGroup(const uint8_t *weight, int64_t row_bytes, int64_t first, int64_t count) {
        for (int r = 0; r < kGgufGroup; ++r) {
            row[r] = weight + (first + r < count ? first + r : count - 1) * row_bytes;
        }
    }

    INFINI_SIMD void prepare(int64_t block) {
        const int64_t at = block * G::kBytes;
        if constexpr (G::kLarge) {
            prepare_large(at);
        } else if constexpr (G::kHasMinimum) {
#if defined(__ARM_NEON)
            const uint16x8_t pairs = vreinterpretq_u16_u64(
                vcombine_u64(vcreate_u64(load_pair(0, at)), vcreate_u64(load_pair(2, at))));
            lanes[0].scale = gguf_halves(vget_low_u16(vuzp1q_u16(pairs, pairs)));
            lanes[0].minimum = gguf_halves(vget_low_u16(vuzp2q_u16(pairs, pairs)));
#else
            GgufInts pairs = {};
#pragma GCC unroll 8
            for (int r = 0; r < kGgufGroup; ++r) {
                int32_t pair;
                std::memcpy(&pair, row[r] + at, sizeof pair);
                pairs[r] = pair;
            }
            lanes[0].scale = gguf_halves(__builtin_convertvector(pairs & 0xffff, GgufHalves));
            lanes[0].minimum =
                gguf_halves(__builtin_convertvector((pairs >> 16) & 0xffff, GgufHalves));
#endif
        } else {
            lanes[0].scale = gguf_halves(load_halves(at));
        }
    }

private:
#if defined(__ARM_NEON)
    // Put together with integers: vector units have more than enough to do.
    INFINI_SIMD GgufHalves load_halves(int64_t at) const {
        uint64_t all = 0;
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r) {
            uint16_t half;
            std::memcpy(&half, row[r] + at, sizeof half);
            all |= uint64_t(half) << (16 * r);
        }
        return vcreate_u16(all);
    }
    INFINI_SIMD uint64_t load_pair(int r, int64_t at) const {
        uint32_t low, high;
        std::memcpy(&low, row[r] + at, sizeof low);
        std::memcpy(&high, row[r + 1] + at, sizeof high);
        return low | uint64_t(high) << 32;
    }
#else
    INFINI_SIMD GgufHalves load_halves(int64_t at) const {
        GgufHalves halves = {};
#pragma GCC unroll 8
        for (int r = 0; r < kGgufGroup; ++r) {
            uint16_t half;
            std::memcpy(&half, row[r] + at, sizeof half);
            halves[r] = half;
        }
        return halves;
    }
#endif

    void prepare_large(int64_t at) {
        if constexpr (G::kHasParts) {
            const GgufFloats scale = gguf_halves(load_halves(at + 208));
            for (int j = 0; j < 8; ++j) {
                GgufInts first = {}, second = {};
                for (int r = 0; r < kGgufGroup; ++r) {
                    first[r] = int8_t(row[r][at + 192 + 2 * j]);
                    second[r] = int8_t(row[r][at + 193 + 2 * j]);
                }
                lanes[j].scale = scale;
                lanes[j].part[0] = first, lanes[j].part[1] = second;
            }
        } else {
            const GgufFloats scale = gguf_halves(load_halves(at));
            const GgufFloats minimum = -gguf_halves(load_halves(at + 2));
            // Words of four bytes: the scales of units 0 to 3, of 4 to 7, and so the minima.
            GgufInts scales[2] = {}, minima[2] = {};
            for (int r = 0; r < kGgufGroup; ++r) {
                uint32_t low, middle, high;
                std::memcpy(&low, row[r] + at + 4, sizeof low);
                std::memcpy(&middle, row[r] + at + 8, sizeof middle);
                std::memcpy(&high, row[r] + at + 12, sizeof high);
                scales[0][r] = int32_t(low & 0x3f3f3f3fu);
                minima[0][r] = int32_t(middle & 0x3f3f3f3fu);
                scales[1][r] = int32_t((high & 0x0f0f0f0fu) | (low >> 2 & 0x30303030u));
                minima[1][r] = int32_t((high >> 4 & 0x0f0f0f0fu) | (middle >> 2 & 0x30303030u));
            }
#pragma GCC unroll 8
            for (int j = 0; j < 8; ++j) {
                const GgufInts s = (scales[j / 4] >> (j % 4 * 8)) & 63;
                const GgufInts m = (minima[j / 4] >> (j % 4 * 8)) & 63;
                lanes[j].scale = scale * __builtin_convertvector(s, GgufFloats);
                lanes[j].minimum = minimum * __builtin_convertvector(m, GgufFloats);
            }
        }
    }
};

}  // namespace infini::cpu

#endif
