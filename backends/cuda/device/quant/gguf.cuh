// Weights in the block formats of GGUF files: expanded, and multiplied with few rows.
#pragma once

#include "places.h"

namespace infini {

struct GgufDequantizeParams {
    void *out;
    const uint8_t *packed;
    Places<2> rows;  // of the output and the packed bytes
    int64_t units;   // of 32 elements in a row
    int32_t word;    // bytes that may be loaded together: 1, 2 or 4
    int32_t whole;   // four elements of the output may be stored together
};

// The input as 8-bit integers; see the declaration of linear_gguf.
struct GgufQuantizeParams {
    const void *x;
    int64_t units;  // of all rows
    int8_t *codes;
    float *scales, *sums;  // of the units; sums are scale * (sum of the codes)
    int32_t *totals;       // sums of the codes
    void *rounded;         // or, instead of these, the numbers that they mean
};

struct GgufMultiplyParams {
    void *out;
    const void *x;  // or, if it was quantised, the rest
    const int8_t *codes;
    const float *scales, *sums;
    const int32_t *totals;
    const uint8_t *weight;
    const void *bias;  // or null
    int64_t columns, row_bytes;
    int32_t rows, units, word;
    int32_t whole;  // four elements of x may be loaded together
};

}  // namespace infini

#ifdef INFINI_DEVICE  // the rest is for the device

#include "words.cuh"

#if defined(INFINI_KERNEL_GGUF_DEQUANTIZE) || defined(INFINI_KERNEL_GGUF_MULTIPLY)
// A unit of 32 elements is read by four threads: each has elements [4 part, 4 part + 4) and the
// same of the second half. kFormat is GGML's number of the type.
namespace infini {

constexpr bool kLarge = kFormat >= 12;  // blocks of 256 elements
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
// Four bits to the fifth bits of four bytes.
INFINI_DEVICE uint32_t spread_bits(uint32_t bits) {
    return (bits & 1) << 4 | (bits & 2) << 11 | (bits & 4) << 18 | (bits & 8) << 25;
}

struct GgufPiece {
    uint32_t low, high;  // four codes each; those of Q8_0 are signed
    float scale, minimum;
    int part[2];  // of Q6_K: integers that the scale is multiplied with, for low and high
};

INFINI_DEVICE GgufPiece load_piece(const uint8_t *row, int unit, int part, int word) {
    const uint8_t *block = row + int64_t(kLarge ? unit / 8 : unit) * kBytes;
    const int j = unit % 8;  // in a large block
    GgufPiece piece = {};
    if constexpr (kFormat == 14) {
        const int half = j / 4, quarter = j % 4;
        const uint8_t *low = block + 64 * half + quarter % 2 * 32 + 4 * part;
        const uint8_t *high = block + 128 + 32 * half + 4 * part;
        const int shift = quarter / 2 * 4;
        piece.low = load_bytes(low, word) >> shift & 0x0f0f0f0fu;
        piece.high = load_bytes(low + 16, word) >> shift & 0x0f0f0f0fu;
        piece.low |= (load_bytes(high, word) >> (2 * quarter) & 0x03030303u) << 4;
        piece.high |= (load_bytes(high + 16, word) >> (2 * quarter) & 0x03030303u) << 4;
        piece.scale = load_half(block + 208);
        piece.part[0] = int8_t(block[192 + 2 * j]), piece.part[1] = int8_t(block[193 + 2 * j]);
    } else if constexpr (kLarge) {
        const uint8_t *nibbles = block + kBytes - 128 + j / 2 * 32 + 4 * part;
        piece.low = load_bytes(nibbles, word) >> (j % 2 * 4) & 0x0f0f0f0fu;
        piece.high = load_bytes(nibbles + 16, word) >> (j % 2 * 4) & 0x0f0f0f0fu;
        if constexpr (kFiveBits) {
            const uint8_t *bits = block + 16 + 4 * part;
            piece.low |= (load_bytes(bits, word) >> j & 0x01010101u) << 4;
            piece.high |= (load_bytes(bits + 16, word) >> j & 0x01010101u) << 4;
        }
        // Six bits each: those of the first four units in one byte, the others' in two.
        const uint8_t *packed = block + 4;
        const int scale = j < 4 ? packed[j] & 63 : (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        const int minimum = j < 4 ? packed[j + 4] & 63 : packed[j + 4] >> 4 | packed[j] >> 6 << 4;
        piece.scale = load_half(block) * float(scale);
        piece.minimum = -load_half(block + 2) * float(minimum);
    } else if constexpr (kFormat == 8) {
        piece.low = load_bytes(block + 2 + 4 * part, word);
        piece.high = load_bytes(block + 18 + 4 * part, word);
        piece.scale = load_half(block);
    } else {
        const uint32_t pairs = load_bytes(block + kBytes - 16 + 4 * part, word);
        piece.low = pairs & 0x0f0f0f0fu, piece.high = pairs >> 4 & 0x0f0f0f0fu;
        if constexpr (kFiveBits) {
            const uint32_t bits = load_bytes(block + kBytes - 20, word);
            piece.low |= spread_bits(bits >> (4 * part));
            piece.high |= spread_bits(bits >> (16 + 4 * part));
        }
        piece.scale = load_half(block);
        if constexpr (kHasMinimum) piece.minimum = load_half(block + 2);
    }
    return piece;
}

// The value of code i of the low or high ones.
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
        const GgufPiece codes = load_piece(p.packed + offset[1], unit, part, p.word);
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
// A unit for each 32 threads. kRounded: gives numbers instead of codes.
using namespace infini;

INFINI_ENTRY(GgufQuantizeParams, 256, 1) {
    const int64_t unit = int64_t(blockIdx.x) * 8 + threadIdx.x / 32;
    if (unit >= p.units) return;
    const int64_t at = unit * 32 + threadIdx.x % 32;
    const float x = convert<float>(static_cast<const T *>(p.x)[at]);
    // Bits of floats without their sign have the floats' order, and a NaN comes last.
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
// A warp for each column of the result, kRows rows of it. kCodes: the input was quantised.
namespace infini {

// c + the products of four signed bytes.
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
    const uint8_t *row = p.weight + column * p.row_bytes;
    const int part = lane() % 4;
    float sums[kRows] = {};
#pragma unroll 4
    for (int unit = lane() / 4; unit < p.units; unit += kWarp / 4) {
        const GgufPiece codes = load_piece(row, unit, part, p.word);
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
