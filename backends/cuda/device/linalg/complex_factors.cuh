// lu_factor and complex_qr: a block for each matrix.
#pragma once

#include "complex.cuh"

#ifdef INFINI_DEVICE

using namespace infini;

#ifdef INFINI_KERNEL_COMPLEX_FACTORS_LU
struct EarlierRow {
    INFINI_DEVICE int64_t operator()(int64_t a, int64_t b) const { return a < b ? a : b; }
};

INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t rows = p.x->rows, columns = p.x->columns;
    Complex *m = as_complex(p.rooms + blockIdx.x * p.room);
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(m, p.x, index);
        __syncthreads();
        int32_t *pivots = static_cast<int32_t *>(p.y[2].data) + p.y[2].batch(index);
        INFINI_ROLLED
        for (int64_t k = 0; k < rows && k < columns; ++k) {
            double most = -1;
            INFINI_ROLLED
            for (int64_t i = k + thread(); i < rows; i += kThreads) {
                const double here = size(m[i * columns + k]);
                if (here > most) most = here;  // a NaN is none
            }
            most = block_most(most);
            int64_t best = rows;
            INFINI_ROLLED
            for (int64_t i = k + thread(); i < rows && best == rows; i += kThreads)
                if (size(m[i * columns + k]) == most) best = i;
            best = fold_large_block<kThreads>(best, EarlierRow());
            if (best == rows) best = k;
            if (thread() == 0) pivots[k * p.y[2].column_step] = int32_t(best + 1);
            if (best != k) {
                INFINI_ROLLED
                for (int64_t j = thread(); j < columns; j += kThreads) {
                    const Complex kept = m[k * columns + j];
                    m[k * columns + j] = m[best * columns + j], m[best * columns + j] = kept;
                }
            }
            __syncthreads();
            const Complex pivot = m[k * columns + k];
            if (pivot.re == 0 && pivot.im == 0) continue;
            INFINI_ROLLED
            for (int64_t i = k + 1 + thread(); i < rows; i += kThreads)
                m[i * columns + k] = divide(m[i * columns + k], pivot);
            __syncthreads();
            const int64_t width = columns - k - 1;
            INFINI_ROLLED
            for (int64_t e = thread(); e < (rows - k - 1) * width; e += kThreads) {
                const int64_t i = k + 1 + e / width, j = k + 1 + e % width;
                m[i * columns + j] = m[i * columns + j] - m[i * columns + k] * m[k * columns + j];
            }
            __syncthreads();
        }
        store_complex(p.y, index, [=](int64_t i, int64_t k) { return m[i * columns + k]; });
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_COMPLEX_FACTORS_QR
// Columns from `from` on become (1 - tau v v^H) times themselves, from row `at` on. v[at] is 1, the
// rest of it is column `at` of `vectors`.
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
            const bool is_done = below < 1e-60;  // of a matrix whose largest element is 1
            const Complex turn = head == 0 ? Complex{1, 0} : first * (1 / head);
            // v = column + turn length, scaled so that its first element is 1
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
