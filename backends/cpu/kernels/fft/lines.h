// Groups of lines that are transformed together: loaded with their elements interleaved, and stored.
#pragma once

#include <algorithm>

#include "copy/transpose.h"
#include "fft/fourier.h"
#include "index/offsets.h"

namespace infini::cpu {

// The starts of some lines, and the distance between them if it is constant.
struct Starts {
    static constexpr int64_t kMost = 32;
    int64_t at[kMost], gap = 1;
    bool is_even = true;

    Starts(const Lines &lines, int64_t first, int64_t count) {
        lines.offsets.fill(first, count, at);
        if (count > 1) gap = at[1] - at[0];
        for (int64_t i = 2; i < count; ++i) is_even &= at[i] - at[i - 1] == gap;
    }
};

// Calls body(k, i, offset) for n elements of all lines. Common steps are constants in the loops.
template <class Body>
INFINI_SIMD void over_elements(const Starts &starts, int64_t step, int64_t n, int64_t lines,
                               const Body &body) {
    if (lines == 1) {
        const int64_t start = starts.at[0];
        if (step == 1)
            for (int64_t k = 0; k < n; ++k) body(k, 0, start + k);
        else if (step == 2)
            for (int64_t k = 0; k < n; ++k) body(k, 0, start + 2 * k);
        else
            for (int64_t k = 0; k < n; ++k) body(k, 0, start + k * step);
        return;
    }
    for (int64_t k = 0; k < n; ++k) {
        const int64_t start = starts.at[0] + k * step;
        if (starts.is_even && starts.gap == 1)
            for (int64_t i = 0; i < lines; ++i) body(k, i, start + i);
        else if (starts.is_even && starts.gap == 2)
            for (int64_t i = 0; i < lines; ++i) body(k, i, start + 2 * i);
        else
            for (int64_t i = 0; i < lines; ++i) body(k, i, starts.at[i] + k * step);
    }
}

template <class T>
void load_lines(T *__restrict to, const T *__restrict from, const Starts &starts, int64_t step,
                int64_t n, int64_t lines) {
    over_elements(starts, step, n, lines,
                  [=](int64_t k, int64_t i, int64_t at) { to[k * lines + i] = from[at]; });
}
template <class T>
void store_lines(T *__restrict to, const T *__restrict from, const Starts &starts, int64_t step,
                 int64_t n, int64_t lines, T scale) {
    over_elements(starts, step, n, lines,
                  [=](int64_t k, int64_t i, int64_t at) { to[at] = from[k * lines + i] * scale; });
}

// Whether lines have adjacent pairs of real and imaginary parts as elements, and equal distances.
template <class T>
bool are_dense_pairs(const T *re, const T *im, const Starts &starts, const Starts &im_starts,
                     int64_t step, int64_t im_step, int64_t lines) {
    const bool same = im == re + 1 && step == 2 && im_step == 2 && starts.at[0] == im_starts.at[0];
    return same && lines > 1 && starts.is_even && im_starts.is_even && starts.gap == im_starts.gap;
}

// Such lines are transposed in registers, a block of elements at a time: one element per access
// would take longer than a short transform.
inline constexpr int64_t kPairs = 32;
template <class T>
INFINI_SIMD void copy_row(T *__restrict to, const T *__restrict from, int64_t n) {
    int64_t i = 0;
    for (; i + int64_t(kWidth<T>) <= n; i += int64_t(kWidth<T>)) store(to + i, load(from + i));
    for (; i < n; ++i) to[i] = from[i];
}
template <class T>
void load_dense_pairs(Signal<T> to, const T *from, int64_t gap, int64_t n, int64_t lines) {
    constexpr int64_t kBytes = sizeof(T);
    T values[2 * kPairs * Starts::kMost];
    for (int64_t first = 0; first < n; first += kPairs) {
        const int64_t count = std::min(kPairs, n - first);
        transpose_block<Cell<kBytes>>(reinterpret_cast<char *>(values), lines * kBytes,
                                      reinterpret_cast<const char *>(from + 2 * first),
                                      gap * kBytes, lines, 2 * count);
        for (int64_t k = 0; k < count; ++k) {
            copy_row(to.re + (first + k) * lines, values + 2 * k * lines, lines);
            copy_row(to.im + (first + k) * lines, values + (2 * k + 1) * lines, lines);
        }
    }
}
template <class T>
void store_dense_pairs(T *to, Signal<T> from, int64_t gap, int64_t n, int64_t lines, T scale,
                       T imag_scale) {
    constexpr int64_t kBytes = sizeof(T);
    T values[2 * kPairs * Starts::kMost];
    for (int64_t first = 0; first < n; first += kPairs) {
        const int64_t count = std::min(kPairs, n - first);
        for (int64_t k = 0; k < count; ++k) {
            const T *re = from.re + (first + k) * lines, *im = from.im + (first + k) * lines;
            T *pair = values + 2 * k * lines;
            for (int64_t i = 0; i < lines; ++i) pair[i] = re[i] * scale;
            for (int64_t i = 0; i < lines; ++i) pair[lines + i] = im[i] * imag_scale;
        }
        transpose_block<Cell<kBytes>>(reinterpret_cast<char *>(to + 2 * first), gap * kBytes,
                                      reinterpret_cast<const char *>(values), lines * kBytes,
                                      2 * count, lines);
    }
}

// Real and imaginary parts that are adjacent in memory.
template <class T>
void store_pairs(T *__restrict to, Signal<T> from, const Starts &starts, int64_t step, int64_t n,
                 int64_t lines, T scale, T imag_scale) {
    const T *__restrict re = from.re, *__restrict im = from.im;
    over_elements(starts, step, n, lines, [=](int64_t k, int64_t i, int64_t at) {
        to[at] = re[k * lines + i] * scale, to[at + 1] = im[k * lines + i] * imag_scale;
    });
}

}  // namespace infini::cpu
