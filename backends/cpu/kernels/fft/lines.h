// Groups of lines that are transformed together: loaded, with their elements interleaved, and
// stored.
#pragma once

#include <algorithm>

#include "fft/fourier.h"
#include "index/offsets.h"

namespace infini::cpu {

// The starts of some lines: the first one and the distance between them if it is constant, else
// all. Their elements are interleaved as those of `lanes` lines, so that vectors are full.
struct Starts {
    static constexpr int64_t kMost = 32;
    int64_t at[kMost], gap = 1, lines, lanes;
    bool is_even = true;

    Starts(const Lines &all, int64_t first, int64_t count, int64_t lanes)
        : lines(count), lanes(lanes) {
        int64_t *to = at;
        all.offsets.each_run(first, count, [&](int64_t offset, int64_t run, int64_t step) {
            is_even = run == count;
            if (is_even) at[0] = offset, gap = run > 1 ? step : 1;
            for (int64_t k = 0; k < run && !is_even; ++k) *to++ = offset + k * step;
        });
    }
    int64_t start(int64_t line) const { return is_even ? at[0] + line * gap : at[line]; }
};

// Calls body(k * lanes + i, offset) for n elements of all lines. Common steps are constants.
template <class Body>
INFINI_SIMD void over_elements(const Starts &starts, int64_t step, int64_t n, const Body &body) {
    const int64_t lines = starts.lines;
    if (lines == 1 && starts.lanes == 1) {
        const int64_t start = starts.at[0];
        if (step == 1)
            for (int64_t k = 0; k < n; ++k) body(k, start + k);
        else if (step == 2)
            for (int64_t k = 0; k < n; ++k) body(k, start + 2 * k);
        else
            for (int64_t k = 0; k < n; ++k) body(k, start + k * step);
        return;
    }
    for (int64_t k = 0; k < n; ++k) {
        const int64_t start = starts.at[0] + k * step, to = k * starts.lanes;
        if (starts.is_even && starts.gap == 1)
            for (int64_t i = 0; i < lines; ++i) body(to + i, start + i);
        else if (starts.is_even && starts.gap == 2)
            for (int64_t i = 0; i < lines; ++i) body(to + i, start + 2 * i);
        else
            for (int64_t i = 0; i < lines; ++i) body(to + i, starts.start(i) + k * step);
    }
}
template <class T, class Body>
INFINI_SIMD void load_elements(Signal<T> to, const Starts &starts, int64_t step, int64_t n,
                               const Body &body) {
    if (starts.lanes > starts.lines) {
        std::fill_n(to.re, n * starts.lanes, T(0));
        if (to.im) std::fill_n(to.im, n * starts.lanes, T(0));
    }
    over_elements(starts, step, n, body);
}

// Evenly spaced lines with dense numbers are transposed in registers: one element per access would
// take longer than a short transform. Whether `n` numbers in each of these lines can be.
template <class T>
bool is_transposable(const Starts &starts, int64_t n) {
    constexpr int64_t kWide = int64_t(kWidth<T>);
    return starts.is_even && starts.lanes % kWide == 0 && n >= kWide;
}
// Calls body(first, i) for the squares that cover n numbers of all lines; the last may overlap.
template <class T, class Body>
INFINI_SIMD void over_squares(const Starts &starts, int64_t n, const Body &body) {
    constexpr int64_t kWide = int64_t(kWidth<T>);
    for (int64_t first = 0; first < n; first += kWide)
        for (int64_t i = 0; i < starts.lanes; i += kWide) body(std::min(first, n - kWide), i);
}
// row(k): where number k of all lines is stored.
template <class T, class Row>
INFINI_SIMD void load_transposed(const T *from, const Starts &starts, int64_t n, const Row &row) {
    using V = Vec<T>;
    constexpr int kWide = int(kWidth<T>);
    over_squares<T>(starts, n, [&](int64_t first, int64_t i) {
        const T *line = from + starts.at[0] + i * starts.gap + first;
        const int64_t last = starts.lines - 1 - i;
        V rows[kWide];
#pragma GCC unroll 16
        for (int r = 0; r < kWide; ++r)
            rows[r] = load<V>(line + std::min<int64_t>(r, last) * starts.gap);
        transpose_lanes(rows);
#pragma GCC unroll 16
        for (int k = 0; k < kWide; ++k) store(row(first + k) + i, rows[k]);
    });
}
// row(k, i): numbers k of the lines i, i + 1, ..., as a vector.
template <class T, class Row>
INFINI_SIMD void store_transposed(T *to, const Starts &starts, int64_t n, const Row &row) {
    using V = Vec<T>;
    constexpr int kWide = int(kWidth<T>);
    over_squares<T>(starts, n, [&](int64_t first, int64_t i) {
        V rows[kWide];
#pragma GCC unroll 16
        for (int k = 0; k < kWide; ++k) rows[k] = row(first + k, i);
        transpose_lanes(rows);
        T *line = to + starts.at[0] + i * starts.gap + first;
        const int64_t lines = starts.lines - i;
#pragma GCC unroll 16
        for (int r = 0; r < kWide; ++r)
            if (r < lines) store(line + r * starts.gap, rows[r]);
    });
}

template <class T>
void load_lines(T *__restrict to, const T *__restrict from, const Starts &starts, int64_t step,
                int64_t n) {
    if (step == 1 && is_transposable<T>(starts, n))
        return load_transposed(from, starts, n,
                               [=, &starts](int64_t k) { return to + k * starts.lanes; });
    load_elements<T>({to, nullptr}, starts, step, n,
                     [=](int64_t own, int64_t at) { to[own] = from[at]; });
}
template <class T>
void store_lines(T *__restrict to, const T *__restrict from, const Starts &starts, int64_t step,
                 int64_t n, T scale) {
    if (step == 1 && is_transposable<T>(starts, n))
        return store_transposed(to, starts, n, [=, &starts](int64_t k, int64_t i) {
            return load(from + k * starts.lanes + i) * broadcast<Vec<T>>(scale);
        });
    over_elements(starts, step, n, [=](int64_t own, int64_t at) { to[at] = from[own] * scale; });
}

// Whether lines have adjacent pairs of real and imaginary parts as elements.
template <class T>
bool are_pairs(const T *re, const T *im, const Starts &starts, const Starts &im_starts,
               int64_t step, int64_t im_step) {
    if (im != re + 1 || step != im_step || starts.is_even != im_starts.is_even) return false;
    if (starts.is_even) return starts.at[0] == im_starts.at[0] && starts.gap == im_starts.gap;
    return std::equal(starts.at, starts.at + starts.lines, im_starts.at);
}

// Such pairs.
template <class T>
void load_pairs(Signal<T> to, const T *from, const Starts &starts, int64_t step, int64_t n) {
    constexpr int64_t kWide = int64_t(kWidth<T>);
    const int64_t lanes = starts.lanes;
    if (step == 2 && is_transposable<T>(starts, 2 * n))
        return load_transposed(from, starts, 2 * n,
                               [=](int64_t k) { return (k % 2 ? to.im : to.re) + k / 2 * lanes; });
    if (!starts.is_even || starts.gap != 2 || starts.lines % kWide != 0)
        return load_elements(to, starts, step, n, [=](int64_t own, int64_t at) {
            to.re[own] = from[at], to.im[own] = from[at + 1];
        });
    for (int64_t k = 0; k < n; ++k)
        for (int64_t i = 0; i < lanes; i += kWide) {
            const T *at = from + starts.at[0] + k * step + 2 * i;
            const Vec<T> a = load(at), b = load(at + kWide);
            store(to.re + k * lanes + i, every_second<0>(a, b));
            store(to.im + k * lanes + i, every_second<1>(a, b));
        }
}
template <class T>
void store_pairs(T *to, Signal<T> from, const Starts &starts, int64_t step, int64_t n, T scale,
                 T imag_scale) {
    constexpr int64_t kWide = int64_t(kWidth<T>);
    const int64_t lanes = starts.lanes;
    const Vec<T> by = broadcast<Vec<T>>(scale), imag_by = broadcast<Vec<T>>(imag_scale);
    if (step == 2 && is_transposable<T>(starts, 2 * n))
        return store_transposed(to, starts, 2 * n, [=](int64_t k, int64_t i) {
            const int64_t at = k / 2 * lanes + i;
            return k % 2 ? load(from.im + at) * imag_by : load(from.re + at) * by;
        });
    if (!starts.is_even || starts.gap != 2 || starts.lines % kWide != 0)
        return over_elements(starts, step, n, [=](int64_t own, int64_t at) {
            to[at] = from.re[own] * scale, to[at + 1] = from.im[own] * imag_scale;
        });
    for (int64_t k = 0; k < n; ++k)
        for (int64_t i = 0; i < lanes; i += kWide) {
            const int64_t at = k * lanes + i;
            const Vec<T> re = load(from.re + at) * by, im = load(from.im + at) * imag_by;
            T *pairs = to + starts.at[0] + k * step + 2 * i;
            store(pairs, zip<1, false>(re, im)), store(pairs + kWide, zip<1, true>(re, im));
        }
}

}  // namespace infini::cpu
