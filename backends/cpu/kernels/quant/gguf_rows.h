// The input of linear_gguf as 8-bit integers with a scale per unit of 32 elements of a row.
#pragma once

#include "../convert.h"

namespace infini::cpu {

// To the nearest integer, ties to even.
INFINI_SIMD I32 gguf_round(F32 x) {
#if defined(__ARM_NEON)
    return vcvtnq_s32_f32(x);
#elif defined(__AVX512F__)
    return as<I32>(_mm512_cvtps_epi32(x));
#elif defined(__AVX2__)
    return as<I32>(_mm256_cvtps_epi32(x));
#elif defined(__SSE2__)
    return as<I32>(_mm_cvtps_epi32(x));
#else
    return each(as<I32>(x), [](int32_t bits) {
        return int32_t(__builtin_rintf(__builtin_bit_cast(float, bits)));
    });
#endif
}

// Rows are interleaved in groups of kTogether, four elements of each in turn; 1 means plain rows.
// Rows that pad the last group are 0.
template <int kTogether>
struct GgufRows {
    int64_t rows, units;
    int offset;      // of the codes of the weights
    int32_t start;   // the initial value of a sum of products
    float *scale;    // [rows / kTogether][units][kTogether]
    float *sum;      // scale * (sum of the codes)
    int32_t *base;   // start - offset * (sum of the codes): corrects for the weights' offset
    int32_t *early;  // the same for elements 0 to 15
    int8_t *codes;   // [rows / kTogether][units][8][kTogether][4]

    static int64_t padded(int64_t rows) { return (rows + kTogether - 1) / kTogether * kTogether; }
    static size_t bytes(int64_t rows, int64_t units) { return size_t(padded(rows) * units) * 48; }

    GgufRows(char *memory, int64_t row_count, int64_t unit_count, int weight_offset,
             int32_t first = 0)
        : rows(row_count), units(unit_count), offset(weight_offset), start(first) {
        const int64_t count = padded(rows) * units;
        codes = reinterpret_cast<int8_t *>(memory);
        scale = reinterpret_cast<float *>(memory + count * 32);
        sum = scale + count;
        base = reinterpret_cast<int32_t *>(sum + count);
        early = base + count;
    }

    int64_t groups() const { return padded(rows) / kTogether; }

    // Quantises the rows of a group from the tensor.
    void quantise(int64_t group, const void *from, int dtype) const {
        for (int64_t i = 0; i < kTogether; ++i) {
            const int64_t row = group * kTogether + i;
            constexpr int64_t kMost = 32;  // units converted at a time
            float x[kMost * 32];
            for (int64_t first = 0; first < units; first += kMost) {
                const int64_t count = units - first < kMost ? units - first : kMost;
                if (row < rows) {
                    const int64_t at = (row * units + first) * 32;
                    const int64_t element = dtype == INFINI_DTYPE_F32 ? 4 : 2;
                    to_f32(x, static_cast<const char *>(from) + at * element, dtype,
                           size_t(count * 32));
                } else {
                    std::memset(x, 0, size_t(count * 32) * sizeof(float));
                }
                // In three steps, each of which processes many units.
                int32_t most[kMost];
                float factor[kMost], inverse[kMost];
                for (int64_t u = 0; u < count; ++u) most[u] = largest(x + u * 32);
                for (int64_t u = 0; u < count; ++u) {
                    const bool finite = most[u] < 0x7f800000;
                    const float by = (finite ? __builtin_bit_cast(float, most[u]) : 0.0f) / 127.0f;
                    inverse[u] = by >= 0x1p-126f ? 1.0f / by : 0.0f;
                    factor[u] = finite ? by : __builtin_nanf("");
                }
                for (int64_t u = 0; u < count; ++u) {
                    const int64_t at = (group * units + first + u) * kTogether;
                    store_codes(x + u * 32, factor[u], inverse[u], at, i);
                }
            }
        }
    }

private:
    // The largest of 32 magnitudes, as bits: these have the same order as the floats, and NaN is
    // the greatest.
    INFINI_SIMD static int32_t largest(const float *x) {
        I32 found = {};
#pragma GCC unroll 8
        for (size_t i = 0; i < 32; i += kWidth<float>) {
            found = maximum(found, bits(cpu::load<F32>(x + i)) & 0x7fffffff);
        }
#if defined(__ARM_NEON)
        return vmaxvq_s32(found);
#else
        return reduce_max(found);
#endif
    }

    INFINI_SIMD void store_codes(const float *x, float factor, float inverse, int64_t at,
                                 int64_t lane) const {
        // The codes of NaNs and infinities do not matter: the scale makes the result NaN.
        constexpr int kCount = int(32 / kWidth<float>);
        I32 rounded[kCount];
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i) {
            rounded[i] = gguf_round(cpu::load<F32>(x + i * int(kWidth<float>)) * inverse);
        }
        int8_t *to = codes + at * 32 + lane * 4;
#if defined(__ARM_NEON)
        int32_t total[2];
#pragma GCC unroll 2
        for (int half = 0; half < 2; ++half) {
            const I32 *four = rounded + 4 * half;
            const int16x8_t low = vcombine_s16(vmovn_s32(four[0]), vmovn_s32(four[1]));
            const int16x8_t high = vcombine_s16(vmovn_s32(four[2]), vmovn_s32(four[3]));
            const int8x16_t all = vcombine_s8(vmovn_s16(low), vmovn_s16(high));
            total[half] = vaddlvq_s8(all);
#pragma GCC unroll 4
            for (int g = 0; g < 4; ++g) {
                std::memcpy(to + (4 * half + g) * 4 * kTogether,
                            reinterpret_cast<const char *>(&all) + 4 * g, 4);
            }
        }
        const int32_t early_total = total[0], count = total[0] + total[1];
#else
        I32 sums = {};
        int32_t early_total = 0;
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i) {
            if (i == kCount / 2) early_total = reduce_add(sums);
            sums += rounded[i];
            const auto bytes = detail::narrow_to_bytes(as<U32>(rounded[i]));
            constexpr int kWords = int(kWidth<float>) / 4;
#pragma GCC unroll 4
            for (int g = 0; g < kWords; ++g) {
                std::memcpy(to + (i * kWords + g) * 4 * kTogether,
                            reinterpret_cast<const char *>(&bytes) + 4 * g, 4);
            }
        }
        const int32_t count = reduce_add(sums);
#endif
        scale[at + lane] = factor;
        sum[at + lane] = factor * float(count);
        base[at + lane] = start - offset * count;
        early[at + lane] = start - offset * early_total;
    }
};

}  // namespace infini::cpu
