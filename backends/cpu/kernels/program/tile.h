// Tiles of a tensor that lies along the rows of the tile, where the loop goes along its columns:
// read as values that stand row by row, kTileColumns apart, and written back.
#pragma once

#include "convert.h"

namespace infini::cpu::program {

constexpr int64_t kTileRows = 32, kTileColumns = 64;

using Four = VectorOf<float, 16>::type;

INFINI_SIMD void transpose(Four &a, Four &b, Four &c, Four &d) {
    const Four ac0 = __builtin_shufflevector(a, c, 0, 4, 1, 5),
               ac1 = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    const Four bd0 = __builtin_shufflevector(b, d, 0, 4, 1, 5),
               bd1 = __builtin_shufflevector(b, d, 2, 6, 3, 7);
    a = __builtin_shufflevector(ac0, bd0, 0, 4, 1, 5);
    b = __builtin_shufflevector(ac0, bd0, 2, 6, 3, 7);
    c = __builtin_shufflevector(ac1, bd1, 0, 4, 1, 5);
    d = __builtin_shufflevector(ac1, bd1, 2, 6, 3, 7);
}

// Can four neighbours be loaded as floats with one instruction?
template <class T>
constexpr bool kInFours =
#if defined(__ARM_NEON)
    std::is_same_v<T, f16> ||
#endif
    std::is_same_v<T, float> || std::is_same_v<T, bf16>;

template <class T>
INFINI_SIMD Four load_four(const T *p) {
    if constexpr (std::is_same_v<T, float>) return load<Four>(p);
#if defined(__ARM_NEON)
    if constexpr (std::is_same_v<T, bf16>)
        return Four(vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&p->bits), 16)));
    if constexpr (std::is_same_v<T, f16>)
        return Four(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&p->bits))));
#else
    if constexpr (std::is_same_v<T, bf16>) {
        using Halves = VectorOf<uint16_t, 8>::type;
        using Wholes = VectorOf<uint32_t, 16>::type;
        return as<Four>(Wholes(__builtin_convertvector(load<Halves>(&p->bits), Wholes) << 16));
    }
#endif
}

// 4 x 4 elements; the first index of one is the second of the other.
template <class T>
INFINI_SIMD void transpose(float *to, int64_t to_apart, const T *from, int64_t from_apart) {
    Four v[4];
    for (int i = 0; i < 4; ++i) v[i] = load_four(from + i * from_apart);
    transpose(v[0], v[1], v[2], v[3]);
    for (int i = 0; i < 4; ++i) store(to + i * to_apart, v[i]);
}

template <class C, class T>
void read_tile(C *values, const T *from, int64_t down, int64_t across, int64_t rows,
               int64_t columns) {
    int64_t c = 0;
    if constexpr (std::is_same_v<C, float> && kInFours<T>)
        for (; down == 1 && rows % 4 == 0 && c + 4 <= columns; c += 4)
            for (int64_t r = 0; r < rows; r += 4)
                transpose(values + r * kTileColumns + c, kTileColumns, from + r + c * across,
                          across);
    for (; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r)
            values[r * kTileColumns + c] = load_element<C>(from[r * down + c * across]);
}

template <class C, class T>
void write_tile(T *to, const C *values, int64_t down, int64_t across, int64_t rows,
                int64_t columns) {
    int64_t c = 0;
    if constexpr (std::is_same_v<C, float> && std::is_same_v<T, float>)
        for (; down == 1 && rows % 4 == 0 && c + 4 <= columns; c += 4)
            for (int64_t r = 0; r < rows; r += 4)
                transpose(to + r + c * across, across, values + r * kTileColumns + c, kTileColumns);
    for (; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r)
            store_element(to[r * down + c * across], values[r * kTileColumns + c]);
}

}  // namespace infini::cpu::program
