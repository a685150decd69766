// Matrix factorizations and what is computed from them: cholesky, qr; det, inverse and solve by LU.
#pragma once

#ifdef INFINI_KERNEL_FACTORS_CHOLESKY
#include "dense.cuh"

// cholesky: the triangular factor of a positive definite matrix.
namespace infini {

// Replaces the lower triangle of m by its factor. Returns false if m is not positive definite.
INFINI_DEVICE bool factor(double *m, int64_t n) {
    INFINI_ROLLED
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = first + kPanel < n ? first + kPanel : n;
        INFINI_ROLLED
        for (int64_t k = first; k < last; ++k) {
            __syncthreads();
            const double square = m[k * n + k];
            if (!(square > 0)) return false;
            const double pivot = sqrt(square);
            __syncthreads();
            if (thread() == 0) m[k * n + k] = pivot;
            INFINI_ROLLED
            for (int64_t i = k + 1 + thread(); i < n; i += kThreads) m[i * n + k] /= pivot;
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = k + 1 + thread(); i < n; i += kThreads) {
                double *row = m + i * n;
                for (int64_t j = k + 1; j < last && j <= i; ++j) row[j] -= row[k] * m[j * n + k];
            }
        }
        __syncthreads();
        // Subtracts the panel times its transpose from the trailing matrix.
        double *panel = m + last * n + first;
        add_product({m + last * n + last, n, 1}, {panel, n, 1}, {panel, 1, n}, n - last,
                    last - first, n - last, -1);
    }
    __syncthreads();
    return true;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    double *m = block_room<kSharedRoom>(p);
    const int64_t n = p.x.rows;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_matrix(m, p.x, index);
        const bool definite = factor(m, n);
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads)
            m[i] = !definite ? not_a_number<double>() : i / n < i % n ? 0.0 : m[i];
        __syncthreads();
        store_matrix(p.y, index, m);
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_FACTORS_QR
#include "reflections.cuh"

// qr: QR factorization by reflections.
using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const int64_t rows = p.x.rows, columns = p.x.columns;
    const int64_t count = rows < columns ? rows : columns;
    double *m = block_room<kSharedRoom>(p), *made = m + rows * columns;
    double *tau = made + rows * count;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_matrix(m, p.x, index);
        factor_qr(m, rows, columns, tau);
        make_q(made, rows, count, m, columns, tau);
        store_matrix(p.y, index, made);
        INFINI_ROLLED
        for (int64_t i = thread(); i < count * columns; i += kThreads)
            if (i % columns < i / columns) m[i] = 0;
        __syncthreads();
        store_matrix(p.z, index, m);
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_FACTORS_EQUATIONS
#include "determinant.cuh"
#include "lu.cuh"

// Operators based on LU factors. kResult: 0 det, 1 slogdet, 2 logdet, 3 inverse, 4 solve. For the
// last two, factorization and solution are separate kernels (kStage), which compile in parallel.
using namespace infini;

// A block's workspace holds the matrix, n integers, the right-hand sides, and the number of pivots
// found.
INFINI_ENTRY(LinalgParams, kThreads, 1) {
    double *m = block_room<kSharedRoom>(p);
    const int64_t n = p.x.rows, columns = kResult == 4 ? p.b.columns : n;
    int64_t *swaps = reinterpret_cast<int64_t *>(m + n * n);
    double *sides = m + n * n + n;
    int64_t *found = reinterpret_cast<int64_t *>(sides + n * columns);
    if constexpr (kResult >= 3) {
        const int64_t index = p.first + blockIdx.x;
        if constexpr (kStage == 0) {
            load_matrix(m, p.x, index);
            const int64_t pivots = factor_lu(m, n, swaps, p.least);
            if (thread() == 0) *found = pivots;
            return;
        }
        if constexpr (kResult == 3)
            set_identity(sides, n, n);
        else
            load_matrix(sides, p.b, index);
        __syncthreads();
        if (*found == n)
            solve_lu(m, n, swaps, sides, columns);
        else
            fill(sides, n * columns, not_a_number<double>());
        __syncthreads();
        return store_matrix(p.y, index, sides);
    }
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_matrix(m, p.x, index);
        const int64_t pivots = factor_lu(m, n, swaps, p.least);
        auto is_swapped = [=](int64_t k) { return swaps[k] != k; };
        store_determinant(p.y, p.z, index, m, n, pivots, is_swapped);
        __syncthreads();
    }
}
#endif
