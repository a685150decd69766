// The input of linear_gguf as 8-bit integers: each unit of 32 elements of a row has a scale.
#pragma once

#include "../convert.h"

namespace infini::cpu {

// kTogether rows lie side by side, four elements of each in turn; for 1 they are plain rows. A row
// that completes the last group is 0.
template <int kTogether>
struct GgufRows {
    int64_t rows, units;
    int offset;      // of the codes of the weights
    float *scale;    // [rows / kTogether][units][kTogether]
    float *sum;      // scale * (sum of the codes)
    int32_t *base;   // -offset * (sum of the codes): what the weights' offset adds to a product
    int32_t *early;  // the same of elements 0 to 15
    int8_t *codes;   // [rows / kTogether][units][8][kTogether][4]

    static int64_t padded(int64_t rows) { return (rows + kTogether - 1) / kTogether * kTogether; }
    static size_t bytes(int64_t rows, int64_t units) { return size_t(padded(rows) * units) * 48; }

    GgufRows(char *memory, int64_t row_count, int64_t unit_count, int weight_offset)
        : rows(row_count), units(unit_count), offset(weight_offset) {
        const int64_t count = padded(rows) * units;
        codes = reinterpret_cast<int8_t *>(memory);
        scale = reinterpret_cast<float *>(memory + count * 32);
        sum = scale + count;
        base = reinterpret_cast<int32_t *>(sum + count);
        early = base + count;
    }

    int64_t groups() const { return padded(rows) / kTogether; }

    // The rows of a group, from the tensor.
    void load(int64_t group, const void *from, int dtype) const {
        for (int64_t i = 0; i < kTogether; ++i) {
            const int64_t row = group * kTogether + i;
            constexpr int64_t kMost = 32;  // units that are converted at a time
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
                for (int64_t u = 0; u < count; ++u) {
                    quantise(x + u * 32, (group * units + first + u) * kTogether, i);
                }
            }
        }
    }

private:
    INFINI_SIMD void quantise(const float *x, int64_t at, int64_t lane) const {
        // Bits of floats without their sign have the floats' order, and a NaN comes last.
        uint32_t most = 0;
        for (int i = 0; i < 32; ++i) {
            uint32_t bits = __builtin_bit_cast(uint32_t, x[i]) & 0x7fffffffu;
            most = bits > most ? bits : most;
        }
        const float unit_scale = __builtin_bit_cast(float, most) / 127.0f;
        const bool finite = most < 0x7f800000u;
        const float inverse = finite && unit_scale >= 0x1p-126f ? 1.0f / unit_scale : 0.0f;
        int8_t made[32];
        int32_t total[2] = {};
        if (finite) {
            for (int i = 0; i < 32; ++i) {
                const int32_t code = int32_t(__builtin_rintf(x[i] * inverse));
                made[i] = int8_t(code);
            }
            for (int i = 0; i < 16; ++i) total[0] += made[i];
            for (int i = 16; i < 32; ++i) total[1] += made[i];
        } else {
            std::memset(made, 0, sizeof made);
        }
        const float stored = finite ? unit_scale : __builtin_nanf("");
        const int32_t count = total[0] + total[1];
        scale[at + lane] = stored;
        sum[at + lane] = stored * float(count);
        base[at + lane] = -offset * count;
        early[at + lane] = -offset * total[0];
        int8_t *to = codes + at * 32 + lane * 4;
        for (int g = 0; g < 8; ++g) std::memcpy(to + g * 4 * kTogether, made + g * 4, 4);
    }
};

}  // namespace infini::cpu
