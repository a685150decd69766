// The block formats of GGUF files. Every format is read in units of 32 elements of a row, which
// have codes of one byte, a scale and a minimum:
//     value[i] = scale * (code[i] - kOffset) + minimum
// Q6_K has a scale for each 16, so a unit has two integers in addition:
//     value[i] = scale * part[i / 16] * (code[i] - kOffset)
// All products here are exact in F32.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "../convert.h"

namespace infini::cpu {

// GGML's numbers.
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

// f(std::integral_constant<int, format>{}). The operators' checks leave no other formats.
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

    static int64_t row_bytes(int64_t k) { return k / kElements * kBytes; }
    // The block that holds unit `unit` of a row.
    static const uint8_t *block(const uint8_t *row, int64_t unit) {
        return row + (kLarge ? unit / 8 : unit) * kBytes;
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
INFINI_SIMD GgufFactors gguf_factors(const uint8_t *row, int64_t unit) {
    using G = Gguf<format>;
    const uint8_t *block = G::block(row, unit);
    GgufFactors f{};
    if constexpr (G::kHasParts) {
        f.scale = gguf_half(block + 208);
        for (int i = 0; i < 2; ++i) f.part[i] = int8_t(block[192 + unit % 8 * 2 + i]);
    } else if constexpr (G::kLarge) {
        // Six bits each: those of the first four units in one byte, the others' in two.
        const uint8_t *packed = block + 4;
        const int64_t j = unit % 8;
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

// The codes of a unit. Those of Q8_0 are signed: int8_t.
template <int format>
INFINI_SIMD void gguf_codes(const uint8_t *row, int64_t unit, uint8_t *codes) {
    using G = Gguf<format>;
    const uint8_t *block = G::block(row, unit);
    if constexpr (format == kQ8_0) {
        std::memcpy(codes, block + 2, 32);
    } else if constexpr (format == kQ6_K) {
        const int64_t half = unit % 8 / 4, quarter = unit % 4;
        const uint8_t *low = block + 64 * half + quarter % 2 * 32, *high = block + 128 + 32 * half;
        for (int i = 0; i < 32; ++i) {
            codes[i] =
                uint8_t((low[i] >> (quarter / 2 * 4) & 15) | (high[i] >> (quarter * 2) & 3) << 4);
        }
    } else if constexpr (G::kLarge) {
        const int64_t j = unit % 8;
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

// The values of a unit.
template <int format>
INFINI_SIMD void gguf_values(const uint8_t *row, int64_t unit, float *values) {
    using G = Gguf<format>;
    uint8_t codes[32];
    gguf_codes<format>(row, unit, codes);
    const GgufFactors f = gguf_factors<format>(row, unit);
    for (int i = 0; i < 32; ++i) {
        const int code = format == kQ8_0 ? int(int8_t(codes[i])) : int(codes[i]) - G::kOffset;
        const float scale = G::kHasParts ? f.scale * float(f.part[i / 16]) : f.scale;
        values[i] = scale * float(code) + f.minimum;
    }
}

}  // namespace infini::cpu
