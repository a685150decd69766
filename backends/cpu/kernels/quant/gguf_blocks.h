// The block formats of GGUF files. Every format is processed in units of 32 elements of a row,
// which have codes of one byte, a scale and a minimum:
//     value[i] = scale * (code[i] - kOffset) + minimum
// Q6_K has a scale per 16 elements, so a unit has two additional integers:
//     value[i] = scale * part[i / 16] * (code[i] - kOffset)
// All products here are exact in F32.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "../convert.h"

namespace infini::cpu {

// Values of GGML's enum.
enum GgufFormat {
    kQ4_0 = 2,
    kQ4_1 = 3,
    kQ5_0 = 6,
    kQ5_1 = 7,
    kQ8_0 = 8,
    kQ4_K = 12,
    kQ5_K = 13,
    kQ6_K = 14
};

// Calls f(std::integral_constant<int, format>{}). The operators reject all other formats.
template <class F>
auto visit_gguf(int64_t format, F &&f) {
    switch (format) {
        case kQ4_0:
            return f(std::integral_constant<int, kQ4_0>{});
        case kQ4_1:
            return f(std::integral_constant<int, kQ4_1>{});
        case kQ5_0:
            return f(std::integral_constant<int, kQ5_0>{});
        case kQ5_1:
            return f(std::integral_constant<int, kQ5_1>{});
        case kQ8_0:
            return f(std::integral_constant<int, kQ8_0>{});
        case kQ4_K:
            return f(std::integral_constant<int, kQ4_K>{});
        case kQ5_K:
            return f(std::integral_constant<int, kQ5_K>{});
        default:
            return f(std::integral_constant<int, kQ6_K>{});
    }
}

template <int format>
struct Gguf {
    static constexpr bool kLarge = format >= kQ4_K;  // blocks of 256
    static constexpr bool kFiveBits = format == kQ5_0 || format == kQ5_1 || format == kQ5_K;
    static constexpr bool kHasMinimum =
        format == kQ4_1 || format == kQ5_1 || format == kQ4_K || format == kQ5_K;
    static constexpr bool kHasParts = format == kQ6_K;
    static constexpr int kOffset = format == kQ4_0   ? 8
                                   : format == kQ5_0 ? 16
                                   : format == kQ6_K ? 32
                                                     : 0;
    static constexpr int64_t kElements = kLarge ? 256 : 32;
    static constexpr int64_t kBytes = format == kQ4_0   ? 18
                                      : format == kQ4_1 ? 20
                                      : format == kQ5_0 ? 22
                                      : format == kQ5_1 ? 24
                                      : format == kQ8_0 ? 34
                                      : format == kQ4_K ? 144
                                      : format == kQ5_K ? 176
                                                        : 210;

    static constexpr int kUnits = int(kElements / 32);  // per block
    // A block consists of 16-bit items, 32-bit words, and in Q6_K another 16-bit item at the end.
    static constexpr int kFirstWord = format == kQ6_K ? 0 : kHasMinimum ? 4 : 2;
    static constexpr int kLastWord = format == kQ6_K ? 208 : int(kBytes);

    static int64_t row_bytes(int64_t k) { return k / kElements * kBytes; }
};

// Rows of interleaved weights are stored in groups: a block of a group has the first item of the
// block of each row, then the second item of each, and so on.
inline constexpr int kGgufRows = 8;

// Calls f(at, bytes) for each item of a block.
template <int format, class F>
INFINI_SIMD void gguf_for_items(F &&f) {
    using G = Gguf<format>;
    for (int at = 0; at < G::kFirstWord; at += 2) f(at, 2);
    for (int at = G::kFirstWord; at < G::kLastWord; at += 4) f(at, 4);
    for (int at = G::kLastWord; at < G::kBytes; at += 2) f(at, 2);
}

// Weights of some rows, either as in a file or interleaved.
template <int format>
struct GgufMatrix {
    using G = Gguf<format>;

    const uint8_t *data;
    int64_t rows, row_bytes;
    bool interleaved;

    // Returns block `index` of a row in file layout; `copy` has room for one block.
    const uint8_t *block(int64_t row, int64_t index, uint8_t *copy) const {
        if (!interleaved) return data + row * row_bytes + index * G::kBytes;
        const int64_t lane = row % kGgufRows;
        const uint8_t *from = data + (row - lane) * row_bytes + index * G::kBytes * kGgufRows;
        gguf_for_items<format>([&](int at, int bytes) {
            std::memcpy(copy + at, from + at * kGgufRows + lane * bytes, size_t(bytes));
        });
        return copy;
    }

    // Returns blocks [first, first + count) of the 8 rows starting at `row`, interleaved; `copy`
    // has room for them. The last row is repeated where rows are missing.
    const uint8_t *group(int64_t row, int64_t first, int64_t count, uint8_t *copy) const {
        if (interleaved) return data + row * row_bytes + first * G::kBytes * kGgufRows;
        const uint8_t *from[kGgufRows];
        for (int r = 0; r < kGgufRows; ++r) {
            const int64_t source = row + r < rows ? row + r : rows - 1;
            from[r] = data + source * row_bytes + first * G::kBytes;
        }
        for (int64_t i = 0; i < count; ++i) {
            interleave(from, i * G::kBytes, copy + i * G::kBytes * kGgufRows);
        }
        return copy;
    }

private:
    // Interleaves the blocks at `begin` of 8 rows. Most words are transposed four at a time.
    INFINI_SIMD static void interleave(const uint8_t *const (&from)[kGgufRows], int64_t begin,
                                       uint8_t *to) {
        typedef uint32_t Four __attribute__((vector_size(16)));
        constexpr int kFours = (G::kLastWord - G::kFirstWord) / 16;
        constexpr int kSingle = G::kLastWord - 16 * kFours;  // words before this are copied singly
#pragma GCC unroll 16
        for (int at = kSingle; at < G::kLastWord; at += 16) {
#pragma GCC unroll 2
            for (int r = 0; r < kGgufRows; r += 4) {
                Four w[4];
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) std::memcpy(&w[i], from[r + i] + begin + at, 16);
                const Four a = __builtin_shufflevector(w[0], w[1], 0, 4, 1, 5);
                const Four b = __builtin_shufflevector(w[0], w[1], 2, 6, 3, 7);
                const Four c = __builtin_shufflevector(w[2], w[3], 0, 4, 1, 5);
                const Four d = __builtin_shufflevector(w[2], w[3], 2, 6, 3, 7);
                const Four out[4] = {__builtin_shufflevector(a, c, 0, 1, 4, 5),
                                     __builtin_shufflevector(a, c, 2, 3, 6, 7),
                                     __builtin_shufflevector(b, d, 0, 1, 4, 5),
                                     __builtin_shufflevector(b, d, 2, 3, 6, 7)};
#pragma GCC unroll 4
                for (int i = 0; i < 4; ++i) {
                    std::memcpy(to + (at + 4 * i) * kGgufRows + 4 * r, &out[i], 16);
                }
            }
        }
        gguf_for_items<format>([&](int at, int bytes) {
            if (at >= kSingle && at < G::kLastWord) return;
#pragma GCC unroll 8
            for (int r = 0; r < kGgufRows; ++r) {
                std::memcpy(to + at * kGgufRows + r * bytes, from[r] + begin + at, size_t(bytes));
            }
        });
    }
};

INFINI_SIMD float gguf_half(const uint8_t *bytes) {
    f16 half;
    std::memcpy(&half, bytes, sizeof half);
    return load_element<float>(half);
}

struct GgufFactors {
    float scale, minimum;
    int part[2];  // of Q6_K
};

template <int format>
INFINI_SIMD GgufFactors gguf_factors(const uint8_t *block, int j) {
    using G = Gguf<format>;
    GgufFactors f{};
    if constexpr (G::kHasParts) {
        f.scale = gguf_half(block + 208);
        for (int i = 0; i < 2; ++i) f.part[i] = int8_t(block[192 + 2 * j + i]);
    } else if constexpr (G::kLarge) {
        // Six bits each: those of the first four units are in one byte, the others in two.
        const uint8_t *packed = block + 4;
        const int scale = j < 4 ? packed[j] & 63 : (packed[j + 4] & 15) | packed[j - 4] >> 6 << 4;
        const int minimum = j < 4 ? packed[j + 4] & 63 : packed[j + 4] >> 4 | packed[j] >> 6 << 4;
        f.scale = gguf_half(block) * float(scale);
        f.minimum = -gguf_half(block + 2) * float(minimum);
    } else {
        f.scale = gguf_half(block);
        if constexpr (G::kHasMinimum) f.minimum = gguf_half(block + 2);
    }
    return f;
}

// The codes of unit j of a block. Those of Q8_0 are signed: int8_t.
template <int format>
INFINI_SIMD void gguf_codes(const uint8_t *block, int j, uint8_t *codes) {
    using G = Gguf<format>;
    if constexpr (format == kQ8_0) {
        std::memcpy(codes, block + 2, 32);
    } else if constexpr (format == kQ6_K) {
        const int half = j / 4, quarter = j % 4;
        const uint8_t *low = block + 64 * half + quarter % 2 * 32, *high = block + 128 + 32 * half;
        for (int i = 0; i < 32; ++i) {
            codes[i] =
                uint8_t((low[i] >> (quarter / 2 * 4) & 15) | (high[i] >> (quarter * 2) & 3) << 4);
        }
    } else if constexpr (G::kLarge) {
        const uint8_t *nibbles = block + G::kBytes - 128 + j / 2 * 32, *high = block + 16;
        for (int i = 0; i < 32; ++i) {
            codes[i] = nibbles[i] >> (j % 2 * 4) & 15;
            if constexpr (G::kFiveBits) codes[i] |= uint8_t((high[i] >> j & 1) << 4);
        }
    } else {
        const uint8_t *nibbles = block + G::kBytes - 16;
        for (int i = 0; i < 16; ++i) codes[i] = nibbles[i] & 15, codes[i + 16] = nibbles[i] >> 4;
        if constexpr (G::kFiveBits) {
            uint32_t high;
            std::memcpy(&high, nibbles - 4, sizeof high);
            for (int i = 0; i < 32; ++i) codes[i] |= uint8_t((high >> i & 1) << 4);
        }
    }
}

// The values of unit j of a block.
template <int format>
INFINI_SIMD void gguf_values(const uint8_t *block, int j, float *values) {
    using G = Gguf<format>;
    uint8_t codes[32];
    gguf_codes<format>(block, j, codes);
    const GgufFactors f = gguf_factors<format>(block, j);
    for (int i = 0; i < 32; ++i) {
        const int code = format == kQ8_0 ? int(int8_t(codes[i])) : int(codes[i]) - G::kOffset;
        const float scale = G::kHasParts ? f.scale * float(f.part[i / 16]) : f.scale;
        values[i] = scale * float(code) + f.minimum;
    }
}

}  // namespace infini::cpu
