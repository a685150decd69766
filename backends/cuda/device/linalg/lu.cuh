// LU factorization with partial pivoting, and solution of linear equations.
#pragma once

#include "dense.cuh"

namespace infini {

struct Pivot {
    double size;
    int64_t row;
};
// The greatest value; of equal ones the first. NaN is ignored unless it comes first.
struct BetterPivot {
    INFINI_DEVICE Pivot operator()(Pivot a, Pivot b) const {
        if (a.row < 0 || b.row < 0) return a.row < 0 ? b : a;
        if (a.size == b.size) return a.row < b.row ? a : b;
        return b.size > a.size ? b : a;
    }
};

// The row from `k` on with the greatest element of column k. A NaN on the diagonal is chosen.
INFINI_CALLED int64_t find_pivot(const double *m, int64_t n, int64_t k) {
    const double first = m[k * n + k];
    if (first != first) return k;
    Pivot best = {0, -1};
    INFINI_ROLLED
    for (int64_t i = k + thread(); i < n; i += kThreads) {
        const double size = fabs(m[i * n + k]);
        if (size == size) best = BetterPivot()(best, Pivot{size, i});
    }
    best = fold_large_block<kThreads>(best, BetterPivot());
    return best.row < 0 ? k : best.row;
}

INFINI_DEVICE void swap_rows(double *m, int64_t pitch, int64_t columns, int64_t a, int64_t b) {
    INFINI_ROLLED
    for (int64_t j = thread(); j < columns; j += kThreads) {
        const double held = m[a * pitch + j];
        m[a * pitch + j] = m[b * pitch + j];
        m[b * pitch + j] = held;
    }
}

// A step of a substitution: entry i of a column of b, minus the product of entries [begin, end) and
// row i of m.
INFINI_CALLED double substituted(const double *m, int64_t n, const double *column, int64_t pitch,
                                 int64_t i, int64_t begin, int64_t end) {
    double value = column[i * pitch];
#pragma unroll 4
    for (int64_t k = begin; k < end; ++k) value -= m[i * n + k] * column[k * pitch];
    return value;
}

// Replaces the n x n matrix m by its factors: L below the diagonal (its own diagonal is 1), and U.
// Row k was swapped with row swaps[k]. Returns the number of pivots found: n, or fewer if a pivot
// is not greater than `least` (or NaN), where the factorization stops.
INFINI_CALLED int64_t factor_lu(double *m, int64_t n, int64_t *swaps, double least) {
    __syncthreads();
    INFINI_ROLLED
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = first + kPanel < n ? first + kPanel : n;
        INFINI_ROLLED
        for (int64_t k = first; k < last; ++k) {
            const int64_t pivot = find_pivot(m, n, k);
            const double value = m[pivot * n + k];
            if (!(fabs(value) > least)) {
                // The caller finds the failed pivot on the diagonal.
                __syncthreads();
                return k;
            }
            __syncthreads();
            if (thread() == 0) swaps[k] = pivot;
            if (pivot != k) swap_rows(m, n, n, pivot, k);
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = k + 1 + thread(); i < n; i += kThreads) {
                double *row = m + i * n;
                const double factor = row[k] / value;
                row[k] = factor;
                for (int64_t j = k + 1; j < last; ++j) row[j] -= factor * m[k * n + j];
            }
            __syncthreads();
        }
        // Updates the columns right of the panel: first the panel's rows in sequence, then all rows
        // below.
        INFINI_ROLLED
        for (int64_t j = last + thread(); j < n; j += kThreads) {
            INFINI_ROLLED
            for (int64_t i = first + 1; i < last; ++i)
                m[i * n + j] = substituted(m, n, m + j, n, i, first, i);
        }
        __syncthreads();
        add_product({m + last * n + last, n, 1}, {m + last * n + first, n, 1},
                    {m + first * n + last, n, 1}, n - last, last - first, n - last, -1);
        __syncthreads();
    }
    return n;
}

// Replaces b, n x columns, by the solution x of m x = b, using the factors of m.
INFINI_CALLED void solve_lu(double *lu, int64_t n, const int64_t *swaps, double *b,
                            int64_t columns) {
    INFINI_ROLLED
    for (int64_t j = thread(); j < columns; j += kThreads) {
        INFINI_ROLLED
        for (int64_t k = 0; k < n; ++k) {
            if (swaps[k] == k) continue;
            const double held = b[k * columns + j];
            b[k * columns + j] = b[swaps[k] * columns + j];
            b[swaps[k] * columns + j] = held;
        }
    }
    __syncthreads();
    INFINI_ROLLED
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = first + kPanel < n ? first + kPanel : n;
        INFINI_ROLLED
        for (int64_t j = thread(); j < columns; j += kThreads) {
            INFINI_ROLLED
            for (int64_t i = first + 1; i < last; ++i)
                b[i * columns + j] = substituted(lu, n, b + j, columns, i, first, i);
        }
        __syncthreads();
        add_product({b + last * columns, columns, 1}, {lu + last * n + first, n, 1},
                    {b + first * columns, columns, 1}, n - last, last - first, columns, -1);
        __syncthreads();
    }
    INFINI_ROLLED
    for (int64_t last = n; last > 0; last = (last - 1) / kPanel * kPanel) {
        const int64_t first = (last - 1) / kPanel * kPanel;
        INFINI_ROLLED
        for (int64_t j = thread(); j < columns; j += kThreads) {
            INFINI_ROLLED
            for (int64_t i = last - 1; i >= first; --i)
                b[i * columns + j] =
                    substituted(lu, n, b + j, columns, i, i + 1, last) / lu[i * n + i];
        }
        __syncthreads();
        add_product({b, columns, 1}, {lu + first, n, 1}, {b + first * columns, columns, 1}, first,
                    last - first, columns, -1);
        __syncthreads();
    }
}

}  // namespace infini
