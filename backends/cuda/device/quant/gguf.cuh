// Weights in the block formats of GGUF files: dequantisation, and products with few rows.
#pragma once

#include "places.h"

namespace infini {

struct GgufDequantizeParams {
    void *out;
    const uint8_t *packed;
    Places<2> rows;     // of the output and the packed bytes
    int64_t units;      // units of 32 elements per row
    int64_t row_bytes;  // for interleaved rows
    int32_t word;       // bytes that may be loaded together: 1, 2 or 4
    int32_t whole;      // four elements of the output may be stored together
};

// The input quantised to 8-bit integers; see the declaration of linear_gguf.
struct GgufQuantizeParams {
    const void *x;
    int64_t units;  // in all rows
    int8_t *codes;
    float *scales, *sums;  // of the units; sums are scale * (sum of the codes)
    int32_t *totals;       // sums of the codes
    void *rounded;         // or, instead of these, the dequantised values
};

struct GgufMultiplyParams {
    void *out;
    const void *x;  // if the input was quantised, the other fields are used
    const int8_t *codes;
    const float *scales, *sums;
    const int32_t *totals;
    const uint8_t *weight;
    const void *bias;  // may be null
    int64_t columns, row_bytes;
    int32_t rows, units, word;
    int32_t whole;  // four elements of x may be loaded together
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

#if defined(INFINI_KERNEL_GGUF_DEQUANTIZE) || defined(INFINI_KERNEL_GGUF_MULTIPLY)
// A unit of 32 elements is read by four threads: each has elements [4 part, 4 part + 4) and the
// corresponding ones of the second half. kFormat is GGML's number of the type. kInterleaved: rows
// are in groups of 8, with the first value or word of each row, then the second of each, and so on.
namespace infini {

constexpr bool kLarge = kFormat >= 12;  // blocks have 256 elements
constexpr bool kFiveBits = kFormat == 6 || kFormat == 7 || kFormat == 13;
constexpr bool kHasMinimum = kFormat == 3 || kFormat == 7 || kFormat == 12 || kFormat == 13;
constexpr int kOffset = kFormat == 2 ? 8 : kFormat == 6 ? 16 : kFormat == 14 ? 32 : 0;
constexpr int kBytes = kFormat == 2    ? 18
                       : kFormat == 3  ? 20
                       : kFormat == 6  ? 22
                       : kFormat == 7  ? 24
                       : kFormat == 8  ? 34
                       : kFormat == 12 ? 144
                       : kFormat == 13 ? 176
                                       : 210;

INFINI_DEVICE uint32_t load_bytes(const uint8_t *from, int word) {
    if (word == 4) return *reinterpret_cast<const uint32_t *>(from);
    if (word == 2) {
        const uint16_t *halves = reinterpret_cast<const uint16_t *>(from);
        return halves[0] | uint32_t(halves[1]) << 16;
    }
    return from[0] | uint32_t(from[1]) << 8 | uint32_t(from[2]) << 16 | uint32_t(from[3]) << 24;
}
INFINI_DEVICE float load_half(const uint8_t *from) {
    return convert<float>(f16{uint16_t(from[0] | uint32_t(from[1]) << 8)});
}
// Moves four bits to the fifth bit of each of four bytes.
INFINI_DEVICE uint32_t spread_bits(uint32_t bits) {
    return (bits & 1) << 4 | (bits & 2) << 11 | (bits & 4) << 18 | (bits & 8) << 25;
}

struct GgufPiece {
    uint32_t low, high;  // four codes each; those of Q8_0 are signed
    float scale, minimum;
    int part[2];  // Q6_K: integer factors of the scale, for low and high
};

// The start of a row.
struct GgufRow {
    const uint8_t *data;  // of its group, if interleaved
    int lane;             // index in the group
    int word;             // bytes that may be loaded together

    INFINI_DEVICE GgufRow(const uint8_t *weight, int64_t row, int64_t row_bytes, int together)
        : data(weight + (kInterleaved ? row / 8 * 8 : row) * row_bytes),
          lane(int(row % 8)),
          word(together) {}
    INFINI_DEVICE GgufRow(const uint8_t *row, int together) : data(row), lane(0), word(together) {}
};

// A block of a row. Two-byte values and four-byte words are addressed by their position in the
// format.
struct GgufBlock {
    const uint8_t *data;
    int lane, word_bytes;

    INFINI_DEVICE GgufBlock(const GgufRow &row, int64_t index)
        : data(row.data + index * kBytes * (kInterleaved ? 8 : 1)),
          lane(row.lane),
          word_bytes(row.word) {}

    INFINI_DEVICE uint32_t word(int at) const {
        return load_bytes(kInterleaved ? data + 8 * at + 4 * lane : data + at, word_bytes);
    }
    INFINI_DEVICE float half(int at) const {
        return load_half(kInterleaved ? data + 8 * at + 2 * lane : data + at);
    }
    INFINI_DEVICE uint8_t byte(int at) const {  // within words; byte fields begin at multiples of 4
        return kInterleaved ? data[8 * (at & ~3) + 4 * lane + (at & 3)] : data[at];
    }
};

INFINI_DEVICE GgufPiece load_piece(const GgufRow &row, int unit, int part) {
    const GgufBlock block(row, kLarge ? unit / 8 : unit);
    const int j = unit % 8;  // index in a large block
    GgufPiece piece = {};
    if constexpr (kFormat == 14) {
        const int half = j / 4, quarter = j % 4;
        const int low = 64 * half + quarter % 2 * 32 + 4 * part;
        const int high = 128 + 32 * half + 4 * part;
        const int shift = quarter / 2 * 4;
        piece.low = block.word(low) >> shift & 0x0f0f0f0fu;
        piece.high = block.word(low + 16) >> shift & 0x0f0f0f0fu;
        piece.low |= (block.word(high) >> (2 * quarter) & 0x03030303u) << 4;
        piece.high |= (block.word(high + 16) >> (2 * quarter) & 0x03030303u) << 4;
        piece.scale = block.half(208);
        piece.part[0] = int8_t(block.byte(192 + 2 * j)),
        piece.part[1] = int8_t(block.byte(193 + 2 * j));
    } else if constexpr (kLarge) {
        const int nibbles = kBytes - 128 + j / 2 * 32 + 4 * part;
        piece.low = block.word(nibbles) >> (j % 2 * 4) & 0x0f0f0f0fu;
        piece.high = block.word(nibbles + 16) >> (j % 2 * 4) & 0x0f0f0f0fu;
        if constexpr (kFiveBits) {
            const int bits = 16 + 4 * part;
            piece.low |= (block.word(bits) >> j & 0x01010101u) << 4;
            piece.high |= (block.word(bits + 16) >> j & 0x01010101u) << 4;
        }
        // Six bits each: in one byte for the first four units, split over two for the others.
        const int middle = block.byte(j + 8);
        const int scale = j < 4 ? block.byte(j + 4) & 63 : (middle & 15) | block.byte(j) >> 6 << 4;
        const int minimum = j < 4 ? middle & 63 : middle >> 4 | block.byte(j + 4) >> 6 << 4;
        piece.scale = block.half(0) * float(scale);
        piece.minimum = -block.half(2) * float(minimum);
    } else if constexpr (kFormat == 8) {
        piece.low = block.word(2 + 4 * part);
        piece.high = block.word(18 + 4 * part);
        piece.scale = block.half(0);
    } else {
        const uint32_t pairs = block.word(kBytes - 16 + 4 * part);
        piece.low = pairs & 0x0f0f0f0fu, piece.high = pairs >> 4 & 0x0f0f0f0fu;
        if constexpr (kFiveBits) {
            const uint32_t bits = block.word(kBytes - 20);
            piece.low |= spread_bits(bits >> (4 * part));
            piece.high |= spread_bits(bits >> (16 + 4 * part));
        }
        piece.scale = block.half(0);
        if constexpr (kHasMinimum) piece.minimum = block.half(2);
    }
    return piece;
}

// The value of code i of the low or high half.
INFINI_DEVICE float value_of(const GgufPiece &piece, int half, int i) {
    const uint32_t codes = half ? piece.high : piece.low;
    const int code = kFormat == 8 ? int(int8_t(codes >> (8 * i))) : int(codes >> (8 * i) & 255);
    const float scale = kFormat == 14 ? piece.scale * float(piece.part[half]) : piece.scale;
    return scale * float(code - kOffset) + piece.minimum;
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_GGUF_DEQUANTIZE
using namespace infini;

INFINI_ENTRY(GgufDequantizeParams, 256, 1) {
    const int64_t pieces = p.units * 4;
    for (int64_t i = grid_thread(); i < p.rows.count * pieces; i += grid_threads()) {
        const int64_t row = divide_apart(i, pieces);
        const int piece = int(i - row * pieces), unit = piece / 4, part = piece % 4;
        int64_t offset[2];
        p.rows.at(row, offset);
        const GgufRow from = kInterleaved ? GgufRow(p.packed, row, p.row_bytes, p.word)
                                          : GgufRow(p.packed + offset[1], p.word);
        const GgufPiece codes = load_piece(from, unit, part);
        T *out = static_cast<T *>(p.out) + offset[0] + unit * 32 + part * 4;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float values[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) values[k] = value_of(codes, half, k);
            store_some<4>(out + 16 * half, narrow<T>(values), p.whole);
        }
    }
}
#endif

#ifdef INFINI_KERNEL_GGUF_QUANTIZE
// One unit per 32 threads. kRounded: stores values instead of codes.
using namespace infini;

INFINI_ENTRY(GgufQuantizeParams, 256, 1) {
    const int64_t unit = int64_t(blockIdx.x) * 8 + threadIdx.x / 32;
    if (unit >= p.units) return;
    const int64_t at = unit * 32 + threadIdx.x % 32;
    const float x = convert<float>(static_cast<const T *>(p.x)[at]);
    // Without the sign, the bits of floats have the order of the floats, and NaN is greatest.
    uint32_t most = bit_cast<uint32_t>(x) & 0x7fffffffu;
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) {
        const uint32_t other = INFINI_SHUFFLE(_xor, most, mask);
        most = other > most ? other : most;
    }
    const bool finite = most < 0x7f800000u;
    const float scale = finite ? bit_cast<float>(most) / 127.0f : not_a_number<float>();
    const float inverse = scale >= 0x1p-126f ? 1.0f / scale : 0.0f;
    const int code = finite ? int(rintf(x * inverse)) : 0;
    if constexpr (kRounded) {
        static_cast<T *>(p.rounded)[at] = convert<T>(scale * float(code));
    } else {
        int total = code;
#pragma unroll
        for (int mask = 16; mask > 0; mask /= 2) total += INFINI_SHUFFLE(_xor, total, mask);
        p.codes[at] = int8_t(code);
        if (threadIdx.x % 32 == 0) {
            p.scales[unit] = scale, p.sums[unit] = scale * float(total);
            p.totals[unit] = total;
        }
    }
}
#endif

#ifdef INFINI_KERNEL_GGUF_MULTIPLY
// One warp per column of the result, for kRows rows. kCodes: the input was quantised.
namespace infini {

// c + the sum of four products of signed bytes.
INFINI_DEVICE int dot_bytes(uint32_t a, uint32_t b, int c) {
#if __CUDA_ARCH__ >= 610
    return __dp4a(int(a), int(b), c);
#else
#pragma unroll
    for (int i = 0; i < 4; ++i) c += int(int8_t(a >> (8 * i))) * int(int8_t(b >> (8 * i)));
    return c;
#endif
}

INFINI_DEVICE float multiply_codes(const GgufMultiplyParams &p, const GgufPiece &w, int64_t unit,
                                   int part) {
    const int8_t *from = p.codes + unit * 32 + part * 4;
    const uint32_t low = *reinterpret_cast<const uint32_t *>(from);
    const uint32_t high = *reinterpret_cast<const uint32_t *>(from + 16);
    int sum;
    if constexpr (kFormat == 14) {
        const int first = dot_bytes(w.low, low, 0) - dot_bytes(0x20202020u, low, 0);
        const int second = dot_bytes(w.high, high, 0) - dot_bytes(0x20202020u, high, 0);
        sum = first * w.part[0] + second * w.part[1];
    } else {
        sum = dot_bytes(w.high, high, dot_bytes(w.low, low, 0));
        if (kOffset != 0 && part == 0) sum -= kOffset * p.totals[unit];
    }
    float result = float(sum) * (w.scale * p.scales[unit]);
    if (kHasMinimum && part == 0) result += w.minimum * p.sums[unit];
    return result;
}

INFINI_DEVICE float multiply_floats(const T *x, const float (&w)[8], bool whole) {
    float values[4], sum = 0;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        widen(load_some<4>(x + 16 * half, whole), values);
#pragma unroll
        for (int k = 0; k < 4; ++k) sum += values[k] * w[4 * half + k];
    }
    return sum;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(GgufMultiplyParams, 256, 1) {
    const int64_t column = int64_t(blockIdx.x) * (256 / kWarp) + warp();
    if (column >= p.columns) return;
    const GgufRow row(p.weight, column, p.row_bytes, p.word);
    const int part = lane() % 4;
    float sums[kRows] = {};
#pragma unroll 4
    for (int unit = lane() / 4; unit < p.units; unit += kWarp / 4) {
        const GgufPiece codes = load_piece(row, unit, part);
        float w[8];
        if constexpr (!kCodes) {
#pragma unroll
            for (int k = 0; k < 8; ++k) w[k] = value_of(codes, k / 4, k % 4);
        }
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
            if (i >= p.rows) break;
            const int64_t at = int64_t(i) * p.units + unit;
            if constexpr (kCodes)
                sums[i] += multiply_codes(p, codes, at, part);
            else
                sums[i] +=
                    multiply_floats(static_cast<const T *>(p.x) + at * 32 + part * 4, w, p.whole);
        }
    }
    const float bias = p.bias ? convert<float>(static_cast<const T *>(p.bias)[column]) : 0.0f;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
        const float sum = fold_warp(sums[i], fold::Sum());
        if (lane() == 0 && i < p.rows)
            static_cast<T *>(p.out)[int64_t(i) * p.columns + column] = convert<T>(sum + bias);
    }
}
#endif

#endif  // INFINI_DEVICE
