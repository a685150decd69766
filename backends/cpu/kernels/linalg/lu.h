// LU factorisation with partial pivoting, and the solution of systems with the factors.
#pragma once

#include "linalg/blocks.h"

namespace infini::cpu {

constexpr int64_t kPanel = 16;  // columns that are factored before the trailing matrix is updated

// Factors the n x n matrix m in place: L below the diagonal, whose own diagonal is 1, and U. Row k
// was swapped with row swaps[k]. Returns the number of pivots: n, or fewer if one is not greater
// than `least` (or NaN), where it stops.
inline int64_t factor_lu(double *m, int64_t n, int64_t *swaps, double least) {
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = std::min(first + kPanel, n);
        for (int64_t k = first; k < last; ++k) {
            int64_t pivot = k;
            for (int64_t i = k + 1; i < n; ++i)
                if (std::abs(m[i * n + k]) > std::abs(m[pivot * n + k])) pivot = i;
            const double value = m[pivot * n + k];
            if (!(std::abs(value) > least)) return k;
            swaps[k] = pivot;
            if (pivot != k) std::swap_ranges(m + pivot * n, m + pivot * n + n, m + k * n);
            for (int64_t i = k + 1; i < n; ++i) {
                double *row = m + i * n;
                row[k] /= value;
                for (int64_t j = k + 1; j < last; ++j) row[j] -= row[k] * m[k * n + j];
            }
        }
        // The matrix to the right of the panel: first the panel's rows one by one, then the rest.
        const ConstBlock panel(m + first * n + last, n);
        for (int64_t i = first + 1; i < last; ++i)
            add_product_rows<1>({m + i * n + last, n}, {m + i * n + first, n}, panel, i - first,
                                n - last, -1);
        add_product({m + last * n + last, n}, {m + last * n + first, n}, panel, n - last,
                    last - first, n - last, -1);
    }
    return n;
}

// Replaces columns [begin, end) of b, which has the given pitch, by those of the solution.
inline void solve_columns(const double *lu, int64_t n, const int64_t *swaps, double *b,
                          int64_t pitch, int64_t begin, int64_t end) {
    const int64_t count = end - begin;
    auto row = [=](int64_t i) { return b + i * pitch + begin; };
    for (int64_t k = 0; k < n; ++k)
        if (swaps[k] != k) std::swap_ranges(row(k), row(k) + count, row(swaps[k]));
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = std::min(first + kPanel, n);
        const ConstBlock known(row(first), pitch);
        for (int64_t i = first + 1; i < last; ++i)
            add_product_rows<1>({row(i), pitch}, {lu + i * n + first, n}, known, i - first, count,
                                -1);
        add_product_range({row(last), pitch}, {lu + last * n + first, n}, known, n - last,
                          last - first, count, -1);
    }
    for (int64_t last = n; last > 0; last = (last - 1) / kPanel * kPanel) {
        const int64_t first = (last - 1) / kPanel * kPanel;
        for (int64_t i = last - 1; i >= first; --i) {
            add_product_rows<1>({row(i), pitch}, {lu + i * n + i + 1, n}, {row(i + 1), pitch},
                                last - i - 1, count, -1);
            for (int64_t j = 0; j < count; ++j) row(i)[j] /= lu[i * n + i];
        }
        add_product_range({row(0), pitch}, {lu + first, n}, {row(first), pitch}, first,
                          last - first, count, -1);
    }
}

// Replaces b, n x columns, by the x with m x = b, given the factors of m.
inline void solve_lu(const double *lu, int64_t n, const int64_t *swaps, double *b,
                     int64_t columns) {
    const int64_t some = std::clamp<int64_t>(65536 / std::max<int64_t>(1, n * n), 16, 64);
    parallel_for(size_t(columns), size_t(some), [=](size_t begin, size_t end) {
        solve_columns(lu, n, swaps, b, columns, int64_t(begin), int64_t(end));
    });
}

}  // namespace infini::cpu
