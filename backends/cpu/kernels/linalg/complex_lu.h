// LU factorisation of complex matrices, and the solution of systems with the factors.
#pragma once

#include "linalg/complex.h"

namespace infini::cpu {

// LAPACK's magnitude for choosing pivots.
inline double measure(Complex z) { return std::abs(z.re) + std::abs(z.im); }

// pivots[k], counted from 1: the row that was swapped with row k, as in LAPACK.
inline void factor_complex_lu(Complex *m, int64_t rows, int64_t columns, int64_t *pivots) {
    for (int64_t k = 0; k < std::min(rows, columns); ++k) {
        int64_t best = k;
        for (int64_t i = k + 1; i < rows; ++i)
            if (measure(m[i * columns + k]) > measure(m[best * columns + k])) best = i;
        pivots[k] = best + 1;
        if (best != k) std::swap_ranges(m + k * columns, m + (k + 1) * columns, m + best * columns);
        const Complex pivot = m[k * columns + k];
        if (pivot.re == 0 && pivot.im == 0) continue;
        const Complex *line = m + k * columns;
        const size_t grain = size_t(std::max<int64_t>(4, 16384 / std::max<int64_t>(1, columns)));
        parallel_for(size_t(rows - k - 1), grain, [=](size_t begin, size_t end) {
            for (int64_t i = k + 1 + int64_t(begin); i < k + 1 + int64_t(end); ++i) {
                Complex *row = m + i * columns;
                const Complex factor = row[k] = row[k] / pivot;
                for (int64_t j = k + 1; j < columns; ++j) row[j] -= factor * line[j];
            }
        });
    }
}

// Replaces b, n x columns, by the x with m x = b, given the factors of m. False if m has a pivot
// that is 0 or NaN.
inline bool solve_complex_lu(const Complex *lu, int64_t n, const int64_t *pivots, Complex *b,
                             int64_t columns) {
    for (int64_t k = 0; k < n; ++k)
        if (!(measure(lu[k * n + k]) > 0)) return false;
    auto row = [=](int64_t i) { return b + i * columns; };
    auto subtract = [=](int64_t from, int64_t to, Complex factor) {
        for (int64_t j = 0; j < columns; ++j) row(to)[j] -= factor * row(from)[j];
    };
    for (int64_t k = 0; k < n; ++k)
        if (pivots[k] != k + 1) std::swap_ranges(row(k), row(k) + columns, row(pivots[k] - 1));
    for (int64_t i = 0; i < n; ++i)
        for (int64_t k = 0; k < i; ++k) subtract(k, i, lu[i * n + k]);
    for (int64_t i = n - 1; i >= 0; --i) {
        for (int64_t k = i + 1; k < n; ++k) subtract(k, i, lu[i * n + k]);
        for (int64_t j = 0; j < columns; ++j) row(i)[j] = row(i)[j] / lu[i * n + i];
    }
    return true;
}

}  // namespace infini::cpu
