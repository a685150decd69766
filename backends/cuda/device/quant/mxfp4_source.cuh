// MXFP4 weights as an operand: two codes per byte along k, the even one in the low bits, and a
// power-of-two scale for every 32 elements of a line. The length of a line is a multiple of 32.
#pragma once

#include "matmul/sources.cuh"

namespace infini {

// 2^(code - 127).
INFINI_DEVICE float mxfp4_scale(uint8_t code) {
    return bit_cast<float>(code ? uint32_t(code) << 23 : 0x00400000u);
}
// The value of a code (sign, two exponent bits, one mantissa bit): its bits, moved to their
// positions in a float, give the value times 2^-126.
INFINI_DEVICE float mxfp4_value(uint32_t code) {
    return bit_cast<float>((code & 8u) << 28 | (code & 7u) << 22) * 0x1p126f;
}

// `vector`: the codes of a run may be loaded together.
template <class Element, bool vector>
struct Mxfp4Source {
    using T = Element;
    static constexpr bool kAlongK = true, kVector = false;

    struct Line {
        const uint8_t *codes, *scales;  // null: no such line
    };
    template <int n>
    struct Raw {
        Vec<uint8_t, n / 2> codes;
        uint8_t scale;
    };

    const uint8_t *codes, *scales;  // the tile's first line
    int lines, depth;

    INFINI_DEVICE Line line(int outer) const {
        if (outer >= lines) return {nullptr, nullptr};
        return {codes + int64_t(outer) * (depth / 2), scales + int64_t(outer) * (depth / 32)};
    }
    template <int n>
    INFINI_DEVICE Raw<n> fetch(const Line &line, int k) const {
        if (!line.codes || k >= depth) return {};
        Raw<n> raw;
        raw.scale = line.scales[k / 32];
        if constexpr (vector) {
            raw.codes = load<n / 2>(line.codes + k / 2);
        } else {
#pragma unroll
            for (int i = 0; i < n / 2; ++i) raw.codes[i] = line.codes[k / 2 + i];
        }
        return raw;
    }
    template <int n>
    INFINI_DEVICE void finish(const Raw<n> &raw, T (&values)[n]) const {
        const float scale = mxfp4_scale(raw.scale);
#pragma unroll
        for (int i = 0; i < n; ++i) {
            const uint32_t code = uint32_t(raw.codes[i / 2]) >> (i % 2 * 4);
            values[i] = convert<T>(mxfp4_value(code) * scale);
        }
    }
};

}  // namespace infini
