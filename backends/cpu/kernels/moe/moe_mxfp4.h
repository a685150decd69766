// MXFP4 weights [n, k] as the matrix [k, n] of a product: 4-bit codes, two per byte, and a power of
// two for every 32 elements of a row. They are decoded in registers.
#pragma once

#include <algorithm>
#include <cstring>

#include "../convert.h"
#include "../matmul/matmul.h"
#include "../matmul/pack.h"

namespace infini::cpu {

inline float mxfp4_scale(uint8_t code) {
    return std::bit_cast<float>(code ? uint32_t(code) << 23 : 0x00400000u);
}

// The values of 32 codes, without their scale. All of them are F16 with a low byte of 0, so they
// are looked up in a table of high bytes.
INFINI_SIMD void decode_mxfp4(const uint8_t *codes, F32 (&values)[32 / kWidth<float>]) {
#if defined(__ARM_NEON)
    const uint8x16_t table = {0x00, 0x38, 0x3c, 0x3e, 0x40, 0x42, 0x44, 0x46,
                              0x80, 0xb8, 0xbc, 0xbe, 0xc0, 0xc2, 0xc4, 0xc6};
    const uint8x16_t bytes = vld1q_u8(codes), zero = vdupq_n_u8(0);
    uint8x16_t even = vqtbl1q_u8(table, vandq_u8(bytes, vdupq_n_u8(15)));
    uint8x16_t odd = vqtbl1q_u8(table, vshrq_n_u8(bytes, 4));
    uint8x16_t halves[2] = {vzip1q_u8(even, odd), vzip2q_u8(even, odd)};
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
        float16x8_t low = vreinterpretq_f16_u8(vzip1q_u8(zero, halves[i]));
        float16x8_t high = vreinterpretq_f16_u8(vzip2q_u8(zero, halves[i]));
        values[4 * i] = vcvt_f32_f16(vget_low_f16(low));
        values[4 * i + 1] = vcvt_high_f32_f16(low);
        values[4 * i + 2] = vcvt_f32_f16(vget_low_f16(high));
        values[4 * i + 3] = vcvt_high_f32_f16(high);
    }
#elif defined(__F16C__) && defined(__AVX2__)
    const __m128i table =
        _mm_setr_epi8(0x00, 0x38, 0x3c, 0x3e, 0x40, 0x42, 0x44, 0x46, char(0x80), char(0xb8),
                      char(0xbc), char(0xbe), char(0xc0), char(0xc2), char(0xc4), char(0xc6));
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i *>(codes));
    const __m128i low = _mm_set1_epi8(15), zero = _mm_setzero_si128();
    __m128i even = _mm_shuffle_epi8(table, _mm_and_si128(bytes, low));
    __m128i odd = _mm_shuffle_epi8(table, _mm_and_si128(_mm_srli_epi16(bytes, 4), low));
    __m128i halves[2] = {_mm_unpacklo_epi8(even, odd), _mm_unpackhi_epi8(even, odd)};
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
        __m128i first = _mm_unpacklo_epi8(zero, halves[i]);
        __m128i second = _mm_unpackhi_epi8(zero, halves[i]);
#if defined(__AVX512F__)
        values[i] = F32(_mm512_cvtph_ps(_mm256_set_m128i(second, first)));
#else
        values[2 * i] = F32(_mm256_cvtph_ps(first));
        values[2 * i + 1] = F32(_mm256_cvtph_ps(second));
#endif
    }
#else
    constexpr float table[16] = {0.0f,  0.5f,  1.0f,  1.5f,  2.0f,  3.0f,  4.0f,  6.0f,
                                 -0.0f, -0.5f, -1.0f, -1.5f, -2.0f, -3.0f, -4.0f, -6.0f};
    float some[32];
    for (int i = 0; i < 16; ++i) {
        some[2 * i] = table[codes[i] & 15];
        some[2 * i + 1] = table[codes[i] >> 4];
    }
    std::memcpy(values, some, sizeof some);
#endif
}

#if defined(__ARM_FEATURE_DOTPROD)
// Up to kMost elements of a few rows as bytes: high * 256 + low times a power of two per 32
// elements. The even ones of each 32 come first, in the order in which codes are unpacked from
// bytes. Exact for most 16-bit floats, except those that are at least 2^5 times smaller than the
// largest of their 32.
struct Mxfp4Rows {
    static constexpr int64_t kMost = 512;
    int8_t bytes[kFewRows][kMost / 32][64];  // high even, high odd, low even, low odd
    float unit[kFewRows][kMost / 32];

    // False if an element has more bits than a 16-bit float, or is infinite or NaN.
    static bool suits(const float *x, int64_t count) {
        uint32x4_t some = vdupq_n_u32(0), most = some;
        for (int64_t i = 0; i < count; i += 4) {
            uint32x4_t bits = vreinterpretq_u32_f32(vld1q_f32(x + i));
            some = vorrq_u32(some, bits);
            most = vmaxq_u32(most, vandq_u32(bits, vdupq_n_u32(0x7fffffff)));
        }
        bool short_numbers = vmaxvq_u32(vandq_u32(some, vdupq_n_u32(0x1fff))) == 0;
        return short_numbers && vmaxvq_u32(most) < 0x7f000000u;
    }

    void load(int64_t row, int64_t block, const float *x) {
        float32x4_t v[8], most = vdupq_n_f32(0);
        for (int i = 0; i < 8; ++i) {
            v[i] = vld1q_f32(x + 4 * i);
            most = vmaxq_f32(most, vabsq_f32(v[i]));
        }
        // Scales the largest to [2^13, 2^14). The half compensates for the doubled codes.
        uint32_t exponent = std::bit_cast<uint32_t>(vmaxvq_f32(most)) >> 23;
        exponent = exponent < 40 ? 40 : exponent;
        unit[row][block] = std::bit_cast<float>((exponent - 13) << 23) * 0.5f;
        float32x4_t inverse = vdupq_n_f32(std::bit_cast<float>((254 + 13 - exponent) << 23));
        int8_t *to = bytes[row][block];
        for (int i = 0; i < 4; ++i) {
            int32x4_t first = vcvtnq_s32_f32(vmulq_f32(v[2 * i], inverse));
            int32x4_t second = vcvtnq_s32_f32(vmulq_f32(v[2 * i + 1], inverse));
            int16x8_t value = vcombine_s16(vmovn_s32(first), vmovn_s32(second));
            int8x8_t high = vrshrn_n_s16(value, 8), low = vmovn_s16(value);
            high = vuzp1_s8(high, vext_s8(high, high, 1));  // even ones, then odd ones
            low = vuzp1_s8(low, vext_s8(low, low, 1));
            std::memcpy(to + 4 * i, &high, 4);
            std::memcpy(to + 16 + 4 * i, reinterpret_cast<const char *>(&high) + 4, 4);
            std::memcpy(to + 32 + 4 * i, &low, 4);
            std::memcpy(to + 48 + 4 * i, reinterpret_cast<const char *>(&low) + 4, 4);
        }
    }
};
#endif

class Mxfp4Weights final : public Weights {
public:
    Mxfp4Weights(const void *codes, const void *scales, int64_t k)
        : codes_(static_cast<const uint8_t *>(codes)),
          scales_(static_cast<const uint8_t *>(scales)),
          k_(k) {}

    void unpack(int64_t k0, int64_t k, int64_t n0, int64_t n, float *panel,
                int64_t stride) const override {
        for (int64_t j = 0; j < n; j += 4) {
            for (int64_t i = 0; i < k; i += 32) {
                unpack_block(k0 + i, n0 + j, n - j < 4 ? n - j : 4, panel + i * stride + j, stride);
            }
        }
    }

    bool multiply(int64_t m, const float *x, int64_t k, int64_t n0, int64_t n,
                  float *y) const override {
#if defined(__ARM_FEATURE_DOTPROD)
        if (Mxfp4Rows::suits(x, m * k)) return multiply_bytes(m, x, k, n0, n, y);
#endif
        switch (m) {
            case 1:
                return rows<1>(x, k, n0, n, y, n);
            case 2:
                return rows<2>(x, k, n0, n, y, n);
            case 3:
                return rows<3>(x, k, n0, n, y, n);
            case 4:
                return rows<4>(x, k, n0, n, y, n);
            default:
                break;
        }
        rows<4>(x, k, n0, n, y, n);
        return multiply(m - 4, x + 4 * k, k, n0, n, y + 4 * n);
    }

private:
    static constexpr int kVectors = int(32 / kWidth<float>);

    // Unpacks 32 rows of up to 4 columns of the panel.
    void unpack_block(int64_t k0, int64_t n0, int64_t columns, float *panel, int64_t stride) const {
        alignas(64) float values[4][32];
        for (int64_t j = 0; j < columns; ++j) {
            F32 some[kVectors];
            decode_mxfp4(codes_ + ((n0 + j) * k_ + k0) / 2, some);
            float scale = mxfp4_scale(scales_[((n0 + j) * k_ + k0) / 32]);
            for (int v = 0; v < kVectors; ++v) {
                store(values[j] + v * int(kWidth<float>), some[v] * scale);
            }
        }
        if (columns < 4) {
            for (int i = 0; i < 32; ++i) {
                for (int64_t j = 0; j < columns; ++j) panel[i * stride + j] = values[j][i];
            }
            return;
        }
        for (int i = 0; i < 32; i += 4) {
            using detail::W4;
            W4 a, b, c, d;
            std::memcpy(&a, values[0] + i, 16), std::memcpy(&b, values[1] + i, 16);
            std::memcpy(&c, values[2] + i, 16), std::memcpy(&d, values[3] + i, 16);
            detail::transpose(a, b, c, d);
            float *to = panel + i * stride;
            std::memcpy(to, &a, 16), std::memcpy(to + stride, &b, 16);
            std::memcpy(to + 2 * stride, &c, 16), std::memcpy(to + 3 * stride, &d, 16);
        }
    }

    template <int kM>
    bool rows(const float *x, int64_t k, int64_t n0, int64_t n, float *y, int64_t stride) const {
        for (int64_t j = 0; j < n; ++j) {
            const uint8_t *codes = codes_ + (n0 + j) * k_ / 2;
            const uint8_t *scales = scales_ + (n0 + j) * k_ / 32;
            F32 sums[kM] = {};
            for (int64_t p = 0; p < k; p += 32) {
                F32 some[kVectors];
                decode_mxfp4(codes + p / 2, some);
                F32 scale = broadcast<F32>(mxfp4_scale(scales[p / 32]));
#pragma GCC unroll 4
                for (int i = 0; i < kM; ++i) {
                    F32 part = {}, other = {};
#pragma GCC unroll 8
                    for (int v = 0; v < kVectors; v += 2) {
                        const float *at = x + i * k + p + v * int(kWidth<float>);
                        part = fma(some[v], load<F32>(at), part);
                        other = fma(some[v + 1], load<F32>(at + kWidth<float>), other);
                    }
                    sums[i] = fma(part + other, scale, sums[i]);
                }
            }
            for (int i = 0; i < kM; ++i) y[i * stride + j] = reduce_add(sums[i]);
        }
        return true;
    }

#if defined(__ARM_FEATURE_DOTPROD)
    bool multiply_bytes(int64_t m, const float *x, int64_t k, int64_t n0, int64_t n,
                        float *y) const {
        Mxfp4Rows bytes;
        std::fill(y, y + m * n, 0.0f);
        for (int64_t p = 0; p < k; p += Mxfp4Rows::kMost) {
            int64_t blocks = (k - p < Mxfp4Rows::kMost ? k - p : Mxfp4Rows::kMost) / 32;
            for (int64_t i = 0; i < m; ++i) {
                for (int64_t b = 0; b < blocks; ++b) bytes.load(i, b, x + i * k + p + 32 * b);
            }
            int64_t i = 0;
            for (; i + 4 <= m; i += 4) byte_rows<4>(bytes, i, p, blocks, n0, n, y + i * n);
            if (m - i >= 2) byte_rows<2>(bytes, i, p, blocks, n0, n, y + i * n), i += 2;
            if (m > i) byte_rows<1>(bytes, i, p, blocks, n0, n, y + i * n);
        }
        return true;
    }

    template <int kM>
    [[gnu::noinline]] void byte_rows(const Mxfp4Rows &x, int64_t row, int64_t k0, int64_t blocks,
                                     int64_t n0, int64_t n, float *y) const {
        const int8x16_t table = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
        for (int64_t j = 0; j < n; ++j) {
            const uint8_t *codes = codes_ + ((n0 + j) * k_ + k0) / 2;
            const uint8_t *scales = scales_ + ((n0 + j) * k_ + k0) / 32;
            float32x4_t sums[kM] = {};
            for (int64_t b = 0; b < blocks; ++b) {
                uint8x16_t pairs = vld1q_u8(codes + 16 * b);
                int8x16_t even = vqtbl1q_s8(table, vandq_u8(pairs, vdupq_n_u8(15)));
                int8x16_t odd = vqtbl1q_s8(table, vshrq_n_u8(pairs, 4));
                const float scale = mxfp4_scale(scales[b]);
#pragma GCC unroll 4
                for (int i = 0; i < kM; ++i) {
                    const int8_t *at = x.bytes[row + i][b];
                    int32x4_t sum = vdotq_s32(vdupq_n_s32(0), even, vld1q_s8(at));
                    sum = vshlq_n_s32(vdotq_s32(sum, odd, vld1q_s8(at + 16)), 8);
                    sum = vdotq_s32(sum, even, vld1q_s8(at + 32));
                    sum = vdotq_s32(sum, odd, vld1q_s8(at + 48));
                    sums[i] = vfmaq_n_f32(sums[i], vcvtq_f32_s32(sum), scale * x.unit[row + i][b]);
                }
            }
            for (int i = 0; i < kM; ++i) y[i * n + j] += vaddvq_f32(sums[i]);
        }
    }
#endif

    const uint8_t *codes_, *scales_;
    int64_t k_;
};

}  // namespace infini::cpu
