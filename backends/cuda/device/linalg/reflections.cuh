// Householder reflections, 1 - tau v v^T with v = (1, ...), and the QR factorization.
#pragma once

#include "dense.cuh"

namespace infini {

// The norm of n elements, `step` apart, without intermediate overflow or underflow.
INFINI_CALLED double length(const double *x, int64_t n, int64_t step) {
    double most = 0;
    INFINI_ROLLED
    for (int64_t i = thread(); i < n; i += kThreads) {
        const double size = fabs(x[i * step]);
        most = MostFold()(most, size);
    }
    most = block_most(most);
    if (most == 0 || !(most < infinity<double>())) {
        double nothing = 0;
        INFINI_ROLLED
        for (int64_t i = thread(); i < n; i += kThreads) nothing += x[i * step] * 0;  // keeps NaN
        nothing = block_sum(nothing);
        return most + nothing;
    }
    double sum = 0;
    INFINI_ROLLED
    for (int64_t i = thread(); i < n; i += kThreads) {
        const double part = x[i * step] / most;
        sum += part * part;
    }
    return most * sqrt(block_sum(sum));
}

// Computes the reflection that maps x to (result, 0, ...): x[0] is replaced by the result, the
// other elements by those of v. Returns tau. Begins and ends with a barrier.
INFINI_CALLED double make_reflection(double *x, int64_t n, int64_t step) {
    constexpr double kSmall = 0x1p-900;
    __syncthreads();
    double below = n > 1 ? length(x + step, n - 1, step) : 0, scale = 1;
    if (below == 0) return 0;
    if (below < kSmall && fabs(x[0]) < kSmall) {  // with subnormal numbers tau would lose precision
        scale = 0x1p+600;
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = thread(); i < n; i += kThreads) x[i * step] *= scale;
        __syncthreads();
        below = length(x + step, n - 1, step);
    }
    const double first = x[0], result = -copysign(hypot(first, below), first);
    __syncthreads();
    INFINI_ROLLED
    for (int64_t i = 1 + thread(); i < n; i += kThreads) x[i * step] /= first - result;
    if (thread() == 0) x[0] = result / scale;
    __syncthreads();
    return (result - first) / result;
}

// Reflects the columns of a block of `rows` rows. A warp processes neighbouring columns, one per
// lane.
INFINI_CALLED void reflect(double *block, int64_t pitch, int64_t rows, int64_t columns,
                           const double *v, int64_t step, double tau) {
    if (tau == 0) return;
    INFINI_ROLLED
    for (int64_t j = thread(); j < columns; j += kThreads) {
        double *column = block + j;
        double sum = column[0];
#pragma unroll 8
        for (int64_t i = 1; i < rows; ++i) sum += v[i * step] * column[i * pitch];
        sum *= -tau;
        column[0] += sum;
#pragma unroll 8
        for (int64_t i = 1; i < rows; ++i) column[i * pitch] += sum * v[i * step];
    }
}

// Replaces the rows x columns matrix m by R and, below the diagonal, the vectors of the
// reflections.
INFINI_DEVICE void factor_qr(double *m, int64_t rows, int64_t columns, double *tau) {
    const int64_t count = rows < columns ? rows : columns;
    INFINI_ROLLED
    for (int64_t k = 0; k < count; ++k) {
        double *corner = m + k * columns + k;
        const double factor = make_reflection(corner, rows - k, columns);
        if (thread() == 0) tau[k] = factor;
        reflect(corner + 1, columns, rows - k, columns - k - 1, corner, columns, factor);
    }
    __syncthreads();
}

// Computes the first `count` columns of Q from the first `count` reflections. Their vectors are the
// columns of m, which has the given pitch; each begins `below` rows under the diagonal.
INFINI_DEVICE void make_q(double *q, int64_t rows, int64_t count, const double *m, int64_t pitch,
                          const double *tau, int64_t below = 0) {
    set_identity(q, rows, count);
    INFINI_ROLLED
    for (int64_t k = (count < rows ? count : rows) - 1 - below; k >= 0; --k) {
        const int64_t row = k + below;
        __syncthreads();
        reflect(q + row * count + row, count, rows - row, count - row, m + row * pitch + k, pitch,
                tau[k]);
    }
    __syncthreads();
}

}  // namespace infini
