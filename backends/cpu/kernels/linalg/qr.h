// Householder reflections, 1 - tau v v^T with v = (1, ...), and QR factors made of them.
#pragma once

#include "linalg/dense.h"

namespace infini::cpu {

// The 2-norm of n elements, `step` apart; scaled so that no intermediate value overflows.
inline double length(const double *x, int64_t n, int64_t step) {
    double most = 0;
    for (int64_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i * step]));
    if (most == 0 || !std::isfinite(most)) {
        for (int64_t i = 0; i < n; ++i) most += x[i * step] * 0;  // NaN propagates
        return most;
    }
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double part = x[i * step] / most;
        sum += part * part;
    }
    return most * std::sqrt(sum);
}

// Makes the reflection that maps x to (result, 0, ...): x[0] becomes the result, the other elements
// those of v. Returns tau.
inline double make_reflection(double *x, int64_t n, int64_t step) {
    constexpr double kSmall = 0x1p-900, kScale = 0x1p+600;
    const double below = n > 1 ? length(x + step, n - 1, step) : 0;
    if (below == 0) return 0;
    if (below < kSmall && std::abs(x[0]) < kSmall) {  // subnormal numbers would make tau inaccurate
        for (int64_t i = 0; i < n; ++i) x[i * step] *= kScale;
        const double tau = make_reflection(x, n, step);
        x[0] /= kScale;
        return tau;
    }
    const double first = x[0], result = -std::copysign(std::hypot(first, below), first);
    for (int64_t i = 1; i < n; ++i) x[i * step] /= first - result;
    x[0] = result;
    return (result - first) / result;
}

// Applies a reflection to the columns of a block of `rows` rows. `line` has room for a row.
inline void reflect(Block block, int64_t rows, int64_t columns, const double *v, int64_t step,
                    double tau, double *line) {
    if (tau == 0 || columns <= 0) return;
    const size_t grain = size_t(std::max<int64_t>(64, 32768 / std::max<int64_t>(rows, 1)));
    parallel_for(size_t(columns), grain, [=](size_t begin, size_t end) {
        const int64_t count = int64_t(end - begin);
        double *data = block.data + begin, *sum = line + begin;
        std::copy(data, data + count, sum);
        for (int64_t i = 1; i < rows; ++i)
            add_scaled(sum, data + i * block.pitch, v[i * step], count);
        add_scaled(data, sum, -tau, count);
        for (int64_t i = 1; i < rows; ++i)
            add_scaled(data + i * block.pitch, sum, -tau * v[i * step], count);
    });
}

// Replaces the rows x columns matrix m by R and, below the diagonal, the Householder vectors.
inline void factor_qr(double *m, int64_t rows, int64_t columns, double *tau, double *line) {
    for (int64_t k = 0; k < std::min(rows, columns); ++k) {
        double *corner = m + k * columns + k;
        tau[k] = make_reflection(corner, rows - k, columns);
        reflect({corner + 1, columns}, rows - k, columns - k - 1, corner, columns, tau[k], line);
    }
}

// The first `count` columns of Q, from the first `count` reflections: their vectors are the columns
// of m, with the given pitch, each starting `below` rows under the diagonal.
inline void make_q(double *q, int64_t rows, int64_t count, const double *m, int64_t pitch,
                   const double *tau, double *line, int64_t below = 0) {
    set_identity(q, rows, count);
    for (int64_t k = std::min(count, rows) - 1 - below; k >= 0; --k) {
        const int64_t row = k + below;
        reflect({q + row * count + row, count}, rows - row, count - row, m + row * pitch + k, pitch,
                tau[k], line);
    }
}

}  // namespace infini::cpu
