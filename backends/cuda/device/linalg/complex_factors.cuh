// lu_factor, complex_solve, complex_cholesky and complex_qr: one block per matrix.
#pragma once

#include "complex.cuh"

#ifdef INFINI_DEVICE

using namespace infini;

#if defined(INFINI_KERNEL_COMPLEX_FACTORS_LU) || defined(INFINI_KERNEL_COMPLEX_FACTORS_SOLVE)
struct EarlierRow {
    INFINI_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

INFINI_DEVICE void swap_rows(Complex *m, int64_t columns, int64_t one, int64_t two) {
    INFINI_ROLLED
    for (int64_t j = thread(); j < columns; j += kThreads) {
        const Complex kept = m[one * columns + j];
        m[one * columns + j] = m[two * columns + j], m[two * columns + j] = kept;
    }
}
// Rows from `first` to `last` minus `factors`, whose pitch is given, times row k.
INFINI_CALLED void subtract_row(Complex *c, int64_t columns, int64_t from, int64_t first,
                                int64_t last, int64_t k, const Complex *factors, int64_t pitch) {
    const int64_t width = columns - from;
    INFINI_ROLLED
    for (int64_t e = thread(); e < (last - first) * width; e += kThreads) {
        const int64_t i = first + e / width, j = from + e % width;
        c[i * columns + j] = c[i * columns + j] - factors[i * pitch] * c[k * columns + j];
    }
}

// Replaces m by its factors; swapped(k, row) is called by all threads.
template <class Swapped>
INFINI_DEVICE void factor_complex_lu(Complex *m, int64_t rows, int64_t columns,
                                     const Swapped &swapped) {
    INFINI_ROLLED
    for (int64_t k = 0; k < rows && k < columns; ++k) {
        double most = -1;
        INFINI_ROLLED
        for (int64_t i = k + thread(); i < rows; i += kThreads) {
            const double here = size(m[i * columns + k]);
            if (here > most) most = here;  // NaN is never chosen
        }
        most = block_most(most);
        int64_t best = rows;
        INFINI_ROLLED
        for (int64_t i = k + thread(); i < rows && best == rows; i += kThreads)
            if (size(m[i * columns + k]) == most) best = i;
        best = fold_large_block<kThreads>(best, EarlierRow());
        if (best == rows) best = k;
        swapped(k, best);
        if (best != k) swap_rows(m, columns, k, best);
        __syncthreads();
        const Complex pivot = m[k * columns + k];
        if (pivot.re == 0 && pivot.im == 0) continue;
        INFINI_ROLLED
        for (int64_t i = k + 1 + thread(); i < rows; i += kThreads)
            m[i * columns + k] = divide(m[i * columns + k], pivot);
        __syncthreads();
        subtract_row(m, columns, k + 1, k + 1, rows, k, m + k, columns);
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_COMPLEX_FACTORS_LU
INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t rows = p.x->rows, columns = p.x->columns;
    Complex *m = as_complex(p.rooms + blockIdx.x * p.room);
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(m, p.x, index);
        __syncthreads();
        int32_t *pivots = static_cast<int32_t *>(p.y[2].data) + p.y[2].batch(index);
        factor_complex_lu(m, rows, columns, [&](int64_t k, int64_t best) {
            if (thread() == 0) pivots[k * p.y[2].column_step] = int32_t(best + 1);
        });
        store_complex(p.y, index, [=](int64_t i, int64_t k) { return m[i * columns + k]; });
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_COMPLEX_FACTORS_SOLVE
// kInverse: the right-hand sides are the identity.
INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t n = p.x->rows, columns = p.y->columns;
    Complex *m = as_complex(p.rooms + blockIdx.x * p.room), *sides = m + n * n;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(m, p.x, index);
        if constexpr (kInverse)
            set_complex_identity(sides, n, n);
        else
            load_complex(sides, p.b, index);
        __syncthreads();
        factor_complex_lu(m, n, n, [=](int64_t k, int64_t best) {
            if (best != k) swap_rows(sides, columns, k, best);
        });
        double missing = 0;
        INFINI_ROLLED
        for (int64_t k = thread(); k < n; k += kThreads)
            if (!(size(m[k * n + k]) > 0)) missing = 1;
        missing = block_most(missing);
        INFINI_ROLLED
        for (int64_t k = 0; k < n; ++k) {
            __syncthreads();
            subtract_row(sides, columns, 0, k + 1, n, k, m + k, n);
        }
        INFINI_ROLLED
        for (int64_t k = n - 1; k >= 0; --k) {
            __syncthreads();
            INFINI_ROLLED
            for (int64_t j = thread(); j < columns; j += kThreads)
                sides[k * columns + j] = divide(sides[k * columns + j], m[k * n + k]);
            __syncthreads();
            subtract_row(sides, columns, 0, 0, k, k, m + k, n);
        }
        __syncthreads();
        store_complex(p.y, index, [=](int64_t i, int64_t k) {
            const double nan = not_a_number<double>();
            return missing != 0 ? Complex{nan, nan} : sides[i * columns + k];
        });
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_COMPLEX_FACTORS_CHOLESKY
// Replaces the lower triangle of m by its factor. Returns false if m is not positive definite.
INFINI_DEVICE bool factor_hermitian(Complex *m, int64_t n) {
    INFINI_ROLLED
    for (int64_t k = 0; k < n; ++k) {
        __syncthreads();
        const double square = m[k * n + k].re;
        if (!(square > 0)) return false;
        const double pivot = sqrt(square);
        __syncthreads();
        if (thread() == 0) m[k * n + k] = {pivot, 0};
        INFINI_ROLLED
        for (int64_t i = k + 1 + thread(); i < n; i += kThreads)
            m[i * n + k] = m[i * n + k] * (1 / pivot);
        __syncthreads();
        const int64_t rest = n - k - 1;
        INFINI_ROLLED
        for (int64_t e = thread(); e < rest * rest; e += kThreads) {
            const int64_t i = k + 1 + e / rest, j = k + 1 + e % rest;
            if (j <= i) m[i * n + j] = m[i * n + j] - m[i * n + k] * conj(m[j * n + k]);
        }
    }
    return true;
}

INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t n = p.x->rows;
    Complex *m = as_complex(p.rooms + blockIdx.x * p.room);
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(m, p.x, index);
        const bool is_definite = factor_hermitian(m, n);
        __syncthreads();
        store_complex(p.y, index, [=](int64_t i, int64_t k) {
            const double nan = not_a_number<double>();
            if (!is_definite) return Complex{nan, nan};
            return k > i ? Complex{0, 0} : m[i * n + k];
        });
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_COMPLEX_FACTORS_QR
// Multiplies the columns from `from` on, beginning at row `at`, by (1 - tau v v^H) from the left.
// v[at] is 1, the rest of v is column `at` of `vectors`.
INFINI_CALLED void reflect(Complex *c, int64_t columns, int64_t from, int64_t rows, int64_t at,
                           const Complex *vectors, int64_t pitch, double tau) {
    INFINI_ROLLED
    for (int64_t j = from + thread(); j < columns; j += kThreads) {
        Complex sum = c[at * columns + j];
        INFINI_ROLLED
        for (int64_t i = at + 1; i < rows; ++i)
            sum = sum + conj(vectors[i * pitch + at]) * c[i * columns + j];
        sum = sum * tau;
        c[at * columns + j] = c[at * columns + j] - sum;
        INFINI_ROLLED
        for (int64_t i = at + 1; i < rows; ++i)
            c[i * columns + j] = c[i * columns + j] - vectors[i * pitch + at] * sum;
    }
}

INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t rows = p.x->rows, columns = p.x->columns;
    const int64_t count = rows < columns ? rows : columns;
    double *room = p.rooms + blockIdx.x * p.room;
    Complex *x = as_complex(room), *q = x + rows * columns;
    double *taus = room + 2 * rows * (columns + count);
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(x, p.x, index);
        __syncthreads();
        const double scale = scale_down(x, rows * columns);
        INFINI_ROLLED
        for (int64_t s = 0; s < count; ++s) {
            double below = 0;
            INFINI_ROLLED
            for (int64_t i = s + 1 + thread(); i < rows; i += kThreads)
                below += squared(x[i * columns + s]);
            below = block_sum(below);
            const Complex first = x[s * columns + s];
            const double head = size(first), length = sqrt(below + head * head);
            const bool is_done = below < 1e-60;  // the largest element of the matrix is 1
            const Complex turn = head == 0 ? Complex{1, 0} : first * (1 / head);
            // v = column + phase * length, scaled so that its first element is 1
            const Complex lead = first + turn * length;
            const double tau = is_done ? 0 : 2 * squared(lead) / (below + squared(lead));
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = s + 1 + thread(); i < rows; i += kThreads)
                x[i * columns + s] = is_done ? Complex{0, 0} : divide(x[i * columns + s], lead);
            if (thread() == 0) {
                taus[s] = tau;
                if (!is_done) x[s * columns + s] = turn * -length;
            }
            __syncthreads();
            if (!is_done) reflect(x, columns, s + 1, rows, s, x, columns, tau);
            __syncthreads();
        }
        set_complex_identity(q, rows, count);
        __syncthreads();
        INFINI_ROLLED
        for (int64_t s = count - 1; s >= 0; --s) {
            if (taus[s] != 0) reflect(q, count, s, rows, s, x, columns, taus[s]);
            __syncthreads();
        }
        store_complex(p.y, index, [=](int64_t i, int64_t k) { return q[i * count + k]; });
        store_complex(p.y + 2, index, [=](int64_t i, int64_t k) {
            return k < i ? Complex{0, 0} : x[i * columns + k] * scale;
        });
        __syncthreads();
    }
}
#endif

#endif  // INFINI_DEVICE
