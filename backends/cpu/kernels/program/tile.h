// Tiles of a tensor that is contiguous along the rows of the tile, while the loop iterates along
// its columns: elements are converted to values stored row by row, kTileColumns apart, and back, or
// moved without conversion.
#pragma once

#include "convert.h"
#include "copy/transpose.h"

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

// Whether four consecutive elements can be loaded as floats with one instruction.
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

// Transposes a block of 4 x 4 elements.
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

// ---- Without conversion -------------------------------------------------------------------------

// Calls f with an unsigned integer of the given number of bytes.
template <class F>
void with_cell(int bytes, F &&f) {
    switch (bytes) {
        case 1:
            return f(uint8_t{});
        case 2:
            return f(uint16_t{});
        case 4:
            return f(uint32_t{});
        default:
            return f(uint64_t{});
    }
}

// Strides are in elements.
template <class E>
void copy_strided(E *to, int64_t to_step, const E *from, int64_t from_step, int64_t n) {
    int64_t i = 0;
    if (to_step == 1 && from_step == 2)
        i = every_second<E>(reinterpret_cast<char *>(to), reinterpret_cast<const char *>(from), n);
    if (to_step == 1)
        for (; i < n; ++i) to[i] = from[i * from_step];
    else
        for (; i < n; ++i) to[i * to_step] = from[i * from_step];
}

// to[r][c] = from[r][c]; one is contiguous along rows, the other along columns.
template <class E>
void transpose_cells(E *to, int64_t to_down, int64_t to_across, const E *from, int64_t from_down,
                     int64_t from_across, int64_t rows, int64_t columns) {
    constexpr int64_t kBytes = sizeof(E);
    char *target = reinterpret_cast<char *>(to);
    const char *source = reinterpret_cast<const char *>(from);
    if (to_across == 1 && from_down == 1)
        return transpose_block<E>(target, to_down * kBytes, source, from_across * kBytes, columns,
                                  rows);
    if (to_down == 1 && from_across == 1)
        return transpose_block<E>(target, to_across * kBytes, source, from_down * kBytes, rows,
                                  columns);
    for (int64_t c = 0; c < columns; ++c)
        for (int64_t r = 0; r < rows; ++r)
            to[r * to_down + c * to_across] = from[r * from_down + c * from_across];
}

}  // namespace infini::cpu::program
