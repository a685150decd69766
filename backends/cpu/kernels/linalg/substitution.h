// Triangular systems solved by substitution.
#pragma once

#include "linalg/dense.h"

namespace infini::cpu {

enum class Triangle { kNone, kLower, kUpper };

// Whether an n x n matrix is triangular with a finite nonzero diagonal.
template <class T>
Triangle triangle_of(const T *m, int64_t n) {
    bool lower = true, upper = true;
    for (int64_t i = 0; i < n && (lower || upper); ++i) {
        const T *row = m + i * n;
        if (row[i] == 0 || !std::isfinite(row[i])) return Triangle::kNone;
        T below = 0, above = 0;  // NaN makes the sum unequal to 0
        for (int64_t j = 0; j < i; ++j) below += std::fabs(row[j]);
        for (int64_t j = i + 1; j < n; ++j) above += std::fabs(row[j]);
        lower = lower && above == 0, upper = upper && below == 0;
    }
    return lower ? Triangle::kLower : upper ? Triangle::kUpper : Triangle::kNone;
}

// Four rows at a time. m has a pitch of m_row elements. x, with a pitch of `columns`: `count`
// vectors V of right-hand sides, replaced by solutions.
// kUnit: the diagonal is 1 and not read.
template <class V, int count, bool kUnit = false>
void substitute(const Element<V> *m, int64_t m_row, int64_t n, bool upper, Element<V> *x,
                int64_t columns) {
    constexpr int64_t width = int64_t(kLanes<V>);
    // Row r in the order of the substitution.
    const auto row_of = [=](int64_t r) { return upper ? n - 1 - r : r; };
    const auto solve = [&]<int rows>(std::integral_constant<int, rows>, int64_t first) {
        V sums[rows][count];
        const Element<V> *factors[rows];
#pragma GCC unroll 4
        for (int k = 0; k < rows; ++k) {
            factors[k] = m + row_of(first + k) * m_row;
#pragma GCC unroll 2
            for (int c = 0; c < count; ++c)
                sums[k][c] = load<V>(x + row_of(first + k) * columns + c * width);
        }
        const int64_t begin = upper ? n - first : 0, end = upper ? n : first;
        for (int64_t j = begin; j < end; ++j) {
#pragma GCC unroll 2
            for (int c = 0; c < count; ++c) {
                const V known = load<V>(x + j * columns + c * width);
#pragma GCC unroll 4
                for (int k = 0; k < rows; ++k)
                    sums[k][c] = fma(broadcast<V>(-factors[k][j]), known, sums[k][c]);
            }
        }
#pragma GCC unroll 4
        for (int k = 0; k < rows; ++k) {
            const int64_t row = row_of(first + k);
#pragma GCC unroll 2
            for (int c = 0; c < count; ++c) {
                const V known = kUnit ? sums[k][c] : V(sums[k][c] / factors[k][row]);
                store(x + row * columns + c * width, known);
#pragma GCC unroll 4
                for (int l = k + 1; l < rows; ++l)
                    sums[l][c] = fma(broadcast<V>(-factors[l][row]), known, sums[l][c]);
            }
        }
    };
    int64_t r = 0;
    for (; r + 4 <= n; r += 4) solve(std::integral_constant<int, 4>{}, r);
    for (; r < n; ++r) solve(std::integral_constant<int, 1>{}, r);
}

// Replaces x [n, columns], which holds b, by the solution of m x = b. Only the triangle is read.
inline void solve_triangular(const double *m, int64_t n, Triangle triangle, double *x,
                             int64_t columns) {
    constexpr int64_t kTile = 2 * int64_t(kWidth<double>);
    const bool upper = triangle == Triangle::kUpper;
    const int64_t tiles = (columns + kTile - 1) / kTile;
    const int64_t grain = 1 + (64 << 10) / (n * n * kTile / 2 + 1);
    parallel_for(size_t(tiles), size_t(grain), [=](size_t first, size_t last) {
        for (int64_t t = int64_t(first); t < int64_t(last); ++t) {
            double *at = x + t * kTile;
            int64_t left = std::min(kTile, columns - t * kTile);
            if (left == kTile) {
                substitute<F64, 2>(m, n, n, upper, at, columns);
                continue;
            }
            for (; left >= int64_t(kWidth<double>); left -= int64_t(kWidth<double>)) {
                substitute<F64, 1>(m, n, n, upper, at, columns);
                at += kWidth<double>;
            }
            for (; left > 0; --left, ++at) substitute<double, 1>(m, n, n, upper, at, columns);
        }
    });
}

}  // namespace infini::cpu
