// Transposes of small blocks of elements of 1, 2, 4, 8 or 16 bytes of any type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "copy/write.h"

namespace infini::cpu {

// An element of `kBytes` bytes, as an integer or a vector that moves in one register.
template <int kBytes>
struct CellOf;
template <>
struct CellOf<1> {
    using type = uint8_t;
};
template <>
struct CellOf<2> {
    using type = uint16_t;
};
template <>
struct CellOf<4> {
    using type = uint32_t;
};
template <>
struct CellOf<8> {
    using type = uint64_t;
};
template <>
struct CellOf<16> {
    typedef uint64_t type __attribute__((vector_size(16)));
};
template <int kBytes>
using Cell = typename CellOf<kBytes>::type;

template <class E>
inline E load_cell(const char *from) {
    E value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <class E>
inline void store_cell(char *to, E value) {
    std::memcpy(to, &value, sizeof value);
}

// A 16-byte vector of elements, and the interleaving of two of them.
template <class E>
struct Interleave {
    typedef E Vector __attribute__((vector_size(16)));
    static constexpr int kLanes = 16 / sizeof(E);

    template <size_t... I>
    static Vector low(Vector a, Vector b, std::index_sequence<I...>) {
        return __builtin_shufflevector(a, b, int(I / 2 + (I % 2) * kLanes)...);
    }
    template <size_t... I>
    static Vector even(Vector a, Vector b, std::index_sequence<I...>) {
        return __builtin_shufflevector(a, b, int(2 * I)...);
    }
    template <size_t... I>
    static Vector high(Vector a, Vector b, std::index_sequence<I...>) {
        return __builtin_shufflevector(a, b, int(kLanes / 2 + I / 2 + (I % 2) * kLanes)...);
    }
};

// Transposes a square of 16-byte rows in registers: log2(n) rounds that interleave row i with row
// i + n / 2.
template <class E>
[[gnu::always_inline]] inline void transpose_rows(typename Interleave<E>::Vector *rows) {
    using I = Interleave<E>;
    constexpr int kLanes = I::kLanes;
    constexpr auto kAll = std::make_index_sequence<kLanes>();
    typename I::Vector next[kLanes];
#pragma GCC unroll 4
    for (int round = 1; round < kLanes; round *= 2) {
#pragma GCC unroll 8
        for (int i = 0; i < kLanes / 2; ++i) {
            next[2 * i] = I::low(rows[i], rows[i + kLanes / 2], kAll);
            next[2 * i + 1] = I::high(rows[i], rows[i + kLanes / 2], kAll);
        }
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) rows[i] = next[i];
    }
}

template <class E>
inline void transpose_square(char *to, int64_t to_row, const char *from, int64_t from_row) {
    using Vector = typename Interleave<E>::Vector;
    constexpr int kLanes = Interleave<E>::kLanes;
    Vector rows[kLanes];
    for (int i = 0; i < kLanes; ++i) rows[i] = load_cell<Vector>(from + i * from_row);
    transpose_rows<E>(rows);
    for (int i = 0; i < kLanes; ++i) store_cell(to + i * to_row, rows[i]);
}

// Four squares stacked vertically: rows of the destination are written in whole 64-byte lines. Only
// for elements of 4 bytes or more, because of the number of registers.
template <class E>
[[gnu::always_inline]] inline void transpose_lines(char *to, int64_t to_row, const char *from,
                                                   int64_t from_row, bool streams) {
    if constexpr (sizeof(E) == 16) {
        for (int i = 0; i < 4; ++i)
            store_line_part(to + i * 16, load_cell<E>(from + i * from_row), streams);
        (void)to_row;
    } else {
        using Vector = typename Interleave<E>::Vector;
        constexpr int kLanes = Interleave<E>::kLanes;
        Vector rows[4 * kLanes];
#pragma GCC unroll 16
        for (int i = 0; i < 4 * kLanes; ++i) rows[i] = load_cell<Vector>(from + i * from_row);
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) transpose_rows<E>(rows + i * kLanes);
#pragma GCC unroll 4
        for (int j = 0; j < kLanes; ++j)
#pragma GCC unroll 4
            for (int i = 0; i < 4; ++i)
                store_line_part(to + j * to_row + i * 16, rows[i * kLanes + j], streams);
    }
}

// Copies elements 0, 2, 4, ... of `from` and returns how many of the `count` elements are done. The
// last ones are left out, because reading past them might be invalid.
template <class E>
inline int64_t every_second(char *to, const char *from, int64_t count) {
    int64_t i = 0;
    if constexpr (sizeof(E) < 16) {
        using I = Interleave<E>;
        using Vector = typename I::Vector;
        constexpr auto kAll = std::make_index_sequence<I::kLanes>();
        for (; i + I::kLanes < count; i += I::kLanes) {
            const char *at = from + 2 * i * int64_t(sizeof(E));
            store_cell(to + i * int64_t(sizeof(E)),
                       I::even(load_cell<Vector>(at), load_cell<Vector>(at + 16), kAll));
        }
    }
    return i;
}

// to[j][i] = from[i][j] for i < rows, j < columns; elements are contiguous within rows.
template <class E>
inline void transpose_block(char *to, int64_t to_row, const char *from, int64_t from_row,
                            int64_t rows, int64_t columns) {
    constexpr int64_t kBytes = sizeof(E);
    int64_t whole_rows = 0, whole_columns = 0;
    if constexpr (kBytes < 16) {
        constexpr int64_t kLanes = Interleave<E>::kLanes;
        whole_rows = rows - rows % kLanes, whole_columns = columns - columns % kLanes;
        for (int64_t i = 0; i < whole_rows; i += kLanes)
            for (int64_t j = 0; j < whole_columns; j += kLanes)
                transpose_square<E>(to + j * to_row + i * kBytes, to_row,
                                    from + i * from_row + j * kBytes, from_row);
    }
    auto one = [&](int64_t i, int64_t j) {
        store_cell(to + j * to_row + i * kBytes, load_cell<E>(from + i * from_row + j * kBytes));
    };
    for (int64_t i = 0; i < whole_rows; ++i)
        for (int64_t j = whole_columns; j < columns; ++j) one(i, j);
    for (int64_t i = whole_rows; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) one(i, j);
}

}  // namespace infini::cpu
