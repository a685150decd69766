// Moves elements of any type between strided memory and packed buffers. Strides are in elements.
#pragma once

#include <cstdlib>

#include "copy/transpose.h"

namespace infini::cpu::program {

constexpr int64_t kSlack = 64;  // bytes behind packed rows that may be overwritten

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

// Repeats a value in whole lines; the last one may reach beyond the end.
template <class E>
inline void fill_lines(E *to, E value, int64_t n) {
    typedef E Line __attribute__((vector_size(64)));
    const Line line = value - Line{};
    for (int64_t i = 0; i < n; i += 64 / int64_t(sizeof(E))) std::memcpy(to + i, &line, 64);
}

template <class E>
inline void copy_row(E *to, const E *from, int64_t n) {
    char *target = reinterpret_cast<char *>(to);
    const char *source = reinterpret_cast<const char *>(from);
    const int64_t bytes = n * int64_t(sizeof(E));
    if (bytes <= 64) return copy_short(target, source, bytes);
    for (int64_t i = 0; i + 64 < bytes; i += 64) std::memcpy(target + i, source + i, 64);
    std::memcpy(target + bytes - 64, source + bytes - 64, 64);
}

// Whether columns are to be moved one by one: they are denser than rows, or longer.
inline bool moves_columns(int64_t down, int64_t across, int64_t rows, int64_t n) {
    return std::llabs(down) < std::llabs(across) || (n < 8 && n < rows);
}

// to[r * n + c] = from[r * down + c * across]
template <class E>
void pack_rows(E *to, const E *from, int64_t down, int64_t across, int64_t rows, int64_t n) {
    if (across == 1) {
        for (int64_t r = 0; r < rows; ++r) copy_row(to + r * n, from + r * down, n);
    } else if (across == 0) {
        for (int64_t r = 0; r < rows; ++r) fill_lines(to + r * n, from[r * down], n);
    } else if (down == 0) {
        copy_strided(to, 1, from, across, n);
        for (int64_t r = 1; r < rows; ++r) copy_row(to + r * n, to, n);
    } else if (moves_columns(down, across, rows, n)) {
        transpose_cells(to, n, 1, from, down, across, rows, n);
    } else {
        for (int64_t r = 0; r < rows; ++r) copy_strided(to + r * n, 1, from + r * down, across, n);
    }
}

// to[r * down + c * across] = from[r * n + c]
template <class E>
void unpack_rows(E *to, const E *from, int64_t down, int64_t across, int64_t rows, int64_t n) {
    if (across == 1) {
        for (int64_t r = 0; r < rows; ++r) copy_row(to + r * down, from + r * n, n);
    } else if (moves_columns(down, across, rows, n)) {
        transpose_cells(to, down, across, from, n, 1, rows, n);
    } else {
        for (int64_t r = 0; r < rows; ++r) copy_strided(to + r * down, across, from + r * n, 1, n);
    }
}

}  // namespace infini::cpu::program
