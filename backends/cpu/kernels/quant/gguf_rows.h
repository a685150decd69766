// The input of linear_gguf as 8-bit integers: each 32 elements of a row have a scale.
#pragma once

#include "../convert.h"

namespace infini::cpu {

struct GgufRows {
    int64_t rows, units;  // of 32 elements in a row
    int8_t *codes;        // [rows][units * 32]
    float *scale;         // [rows][units]
    float *sum;           // [rows][units]: scale * (sum of the codes)
    int32_t *total;       // [rows][units]: the sum of the codes

    static size_t bytes(int64_t rows, int64_t units) { return size_t(rows * units) * 44; }

    GgufRows(char *memory, int64_t row_count, int64_t unit_count)
        : rows(row_count), units(unit_count) {
        scale = reinterpret_cast<float *>(memory);
        sum = scale + rows * units;
        total = reinterpret_cast<int32_t *>(sum + rows * units);
        codes = reinterpret_cast<int8_t *>(total + rows * units);
    }

    void load(int64_t row, const void *from, int dtype) const {
        for (int64_t unit = 0; unit < units; ++unit) {
            float x[32];
            to_f32(x,
                   static_cast<const char *>(from) +
                       (row * units + unit) * 32 * (dtype == INFINI_DTYPE_F32 ? 4 : 2),
                   dtype, 32);
            quantise(x, row * units + unit);
        }
    }

private:
    void quantise(const float *x, int64_t at) const {
        // Bits of floats without their sign have the floats' order, and a NaN comes last.
        uint32_t most = 0;
        for (int i = 0; i < 32; ++i) {
            uint32_t bits = __builtin_bit_cast(uint32_t, x[i]) & 0x7fffffffu;
            most = bits > most ? bits : most;
        }
        const float unit_scale = __builtin_bit_cast(float, most) / 127.0f;
        const bool finite = most < 0x7f800000u;
        const float inverse = finite && unit_scale >= 0x1p-126f ? 1.0f / unit_scale : 0.0f;
        int32_t count = 0;
        for (int i = 0; i < 32; ++i) {
            int32_t code = finite ? int32_t(__builtin_rintf(x[i] * inverse)) : 0;
            codes[at * 32 + i] = int8_t(code);
            count += code;
        }
        scale[at] = finite ? unit_scale : __builtin_nanf("");
        total[at] = count;
        sum[at] = scale[at] * float(count);
    }
};

}  // namespace infini::cpu
