// MXFP4 weights [n, k] as the matrix [k, n] of a product: codes of 4 bits, two a byte, and a power of
// two for every 32 of a row. They are decoded in registers.
#pragma once

#include <cstring>

#include "../convert.h"
#include "matmul.h"
#include "pack.h"

namespace infini::cpu {

inline float mxfp4_scale(uint8_t code) {
    return std::bit_cast<float>(code ? uint32_t(code) << 23 : 0x00400000u);
}

// The values of 32 codes, without their scale. All of them are F16 with a low byte of 0, so a table
// of high bytes gives them.
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

    // 32 rows of up to 4 columns of the panel.
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

    const uint8_t *codes_, *scales_;
    int64_t k_;
};

}  // namespace infini::cpu
