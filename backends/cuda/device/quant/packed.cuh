// Packed 4- and 8-bit weights: dequantisation and repacking.
#pragma once

#include "places.h"

namespace infini {

struct Mxfp4Params {
    void *out;
    const uint8_t *packed, *scales;
    Places<3>
        words;  // of 8 columns: in the output, the packed bytes, the rows of scales (at column 0)
    int32_t whole_out, whole_packed;
};

// Words of 8 columns of [rows, columns].
struct DequantizeParams {
    void *out;
    const uint32_t *weights, *zeros;
    const void *scales;
    const int32_t *group_of;
    int64_t rows, columns;  // in words
    int64_t groups, group_rows;
    int32_t whole_out, whole_scales, whole_weights;
};

struct RepackParams {
    uint32_t *out;
    const uint32_t *in;
    const int32_t *from;  // source row of each row; null: not permuted
    int64_t k, n;         // rows and columns
    int64_t words;        // words of the output
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

#ifdef INFINI_KERNEL_PACKED_DEQUANTIZE
// dequantize_awq and dequantize_gptq: (q - z) * scale, 8 columns per thread. kAwq: a word has 8
// columns of a row in AWQ's order, otherwise 8 rows of a column.
namespace infini {

// The nibble of a word that contains column j.
INFINI_DEVICE int nibble(int j) { return kAwq ? j % 2 * 4 + j / 2 : j; }

struct Group {
    float scale[8], zero[8];
};

INFINI_DEVICE void load_group(const DequantizeParams &p, int64_t group, int64_t word, Group &to) {
    const f16 *scales = static_cast<const f16 *>(p.scales) + (group * p.columns + word) * 8;
    widen(load_some<8>(scales, p.whole_scales), to.scale);
    const uint32_t zeros = p.zeros[group * p.columns + word];
#pragma unroll
    for (int j = 0; j < 8; ++j) to.zero[j] = float(zeros >> (4 * nibble(j)) & 15) + (kAwq ? 0 : 1);
}

INFINI_DEVICE void put(const DequantizeParams &p, int64_t row, int64_t word, const float (&q)[8],
                       const Group &group) {
    float value[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) value[j] = (q[j] - group.zero[j]) * group.scale[j];
    store_some<8>(static_cast<f16 *>(p.out) + (row * p.columns + word) * 8, narrow<f16>(value),
                  p.whole_out);
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(DequantizeParams, 256, 1) {
    const int64_t word = grid_thread();
    if (word >= p.columns) return;
    const int64_t bands = kAwq ? p.rows : p.rows / 8;
    int64_t loaded = -1;
    Group group;
    for (int64_t band = blockIdx.y; band < bands; band += gridDim.y) {
        float q[8];
        if constexpr (kAwq) {
            const int64_t here = band / p.group_rows;
            if (here != loaded) load_group(p, loaded = here, word, group);
            const uint32_t codes = p.weights[band * p.columns + word];
#pragma unroll
            for (int j = 0; j < 8; ++j) q[j] = float(codes >> (4 * nibble(j)) & 15);
            put(p, band, word, q, group);
        } else {
            const uint32_t *weights = p.weights + (band * p.columns + word) * 8;
            const Vec<uint32_t, 4> low = load_some<4>(weights, p.whole_weights);
            const Vec<uint32_t, 4> high = load_some<4>(weights + 4, p.whole_weights);
#pragma unroll 1
            for (int r = 0; r < 8; ++r) {
                int64_t here = p.group_of[band * 8 + r] % p.groups;
                here += here < 0 ? p.groups : 0;
                if (here != loaded) load_group(p, loaded = here, word, group);
#pragma unroll
                for (int j = 0; j < 8; ++j)
                    q[j] = float((j < 4 ? low[j] : high[j - 4]) >> (4 * r) & 15);
                put(p, band * 8 + r, word, q, group);
            }
        }
    }
}
#endif

#ifdef INFINI_KERNEL_PACKED_MXFP4
// mxfp4_dequantize: each thread processes 8 codes of e2m1 with one scale (e8m0).
namespace infini {

// Half of the scale, which is always representable in F32; codes give twice their value.
INFINI_DEVICE float half_scale(int code) {
    return bit_cast<float>(code >= 2 ? uint32_t(code - 1) << 23 : 0x200000u << code);
}
INFINI_DEVICE float twice(uint32_t code) {
    const uint32_t magnitude = code & 7;
    const float value =
        magnitude < 4 ? float(magnitude) : float((2 + (magnitude & 1)) << ((magnitude >> 1) - 1));
    return code & 8 ? -value : value;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(Mxfp4Params, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.words.count) return;
    int64_t offset[3];
    p.words.at(i, offset);
    const uint32_t codes = load_word<uint32_t, uint8_t>(p.packed + offset[1], p.whole_packed);
    // The scale's stride is in words; four words share a scale.
    const float half = half_scale(p.scales[offset[2] / 4]);
    float value[8];
#pragma unroll
    for (int k = 0; k < 8; ++k) value[k] = twice(codes >> (4 * k)) * half;
    T *out = static_cast<T *>(p.out) + offset[0];
    if constexpr (sizeof(T) == 4) {
        float low[4] = {value[0], value[1], value[2], value[3]};
        float high[4] = {value[4], value[5], value[6], value[7]};
        store_some<4>(out, narrow<T>(low), p.whole_out);
        store_some<4>(out + 4, narrow<T>(high), p.whole_out);
    } else {
        store_some<8>(out, narrow<T>(value), p.whole_out);
    }
}
#endif

#ifdef INFINI_KERNEL_PACKED_MARLIN_REPACK
// Repacks AWQ's and GPTQ's layout to Marlin's: one output word per thread. Codes have kBits bits
// and are packed in runs of 1024: 16 rows and 64 columns, or 32 rows and 32 columns for 8-bit
// activations (kA8).
namespace infini {

constexpr int kCodes = 32 / kBits, kRunWords = 1024 / kCodes;
constexpr int kRows = kA8 ? 32 : 16, kColumns = kA8 ? 32 : 64;

struct Place {
    int row, column;
};

// Code number `index` of word `word` in a run.
INFINI_DEVICE Place place_of(int word, int index) {
    int tile, half, lane, row;
    if (kA8) {
        const int upper = kBits == 4 ? index % 2 : word % 2;
        const int low = kBits == 4 ? index / 2 : index;
        if (kBits == 8) word /= 2;
        half = word % 2, tile = word / 2 % 2, lane = word / 4;
        row = upper * 16 + lane % 4 * 4 + low;
    } else {
        const int upper = index % 2;
        const int odd = kBits == 4 ? index / 4 : index / 2;
        half = kBits == 4 ? index / 2 % 2 : word % 2;
        if (kBits == 8) word /= 2;
        tile = word % 4, lane = word / 4;
        row = upper * 8 + lane % 4 * 2 + odd;
    }
    return {row, tile * 16 + half * 8 + lane / 4};
}

INFINI_DEVICE uint32_t code_at(const RepackParams &p, int64_t row, int64_t column) {
    constexpr uint32_t kMask = (1u << kBits) - 1;
    if (kAwq) {
        const int j = int(column % kCodes);
        const int index = kBits == 4 ? j % 2 * 4 + j / 2 : j % 2 * 2 + j / 2;
        return p.in[row * (p.n / kCodes) + column / kCodes] >> (index * kBits) & kMask;
    }
    if (p.from) row = p.from[row];
    if (row < 0 || row >= p.k) return 0;
    return p.in[row / kCodes * p.n + column] >> (int(row % kCodes) * kBits) & kMask;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(RepackParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.words) return;
    const int64_t run = i / kRunWords, across = p.n / kColumns;
    const int64_t band = run / across;
    const int64_t row = band * kRows, column = (run - band * across) * kColumns;
    uint32_t word = 0;
#pragma unroll 1
    for (int index = 0; index < kCodes; ++index) {
        const Place at = place_of(int(i % kRunWords), index);
        word |= code_at(p, row + at.row, column + at.column) << (index * kBits);
    }
    p.out[i] = word;
}
#endif

#endif  // INFINI_DEVICE
