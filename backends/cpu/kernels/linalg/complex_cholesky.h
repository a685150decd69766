// complex_cholesky: the triangular factor of a Hermitian positive definite matrix.
#pragma once

#include "linalg/complex.h"

namespace infini::cpu {

// The lower triangle of m becomes the factor. False: m is not positive definite.
inline bool factor_hermitian(Complex *m, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
        const Complex *top = m + k * n;
        double square = m[k * n + k].re;
        for (int64_t j = 0; j < k; ++j) square -= squared(top[j]);
        if (!(square > 0)) return false;
        const double pivot = std::sqrt(square);
        m[k * n + k] = {pivot, 0};
        const size_t grain = size_t(std::max<int64_t>(4, 16384 / (k + 1)));
        parallel_for(size_t(n - k - 1), grain, [=](size_t begin, size_t end) {
            for (int64_t i = k + 1 + int64_t(begin); i < k + 1 + int64_t(end); ++i) {
                Complex sum = m[i * n + k];
                for (int64_t j = 0; j < k; ++j) sum -= m[i * n + j] * conj(top[j]);
                m[i * n + k] = sum * (1 / pivot);
            }
        });
    }
    return true;
}

inline std::unique_ptr<Plan> plan_complex_cholesky(const Operation &operation) {
    const ComplexMatrices y(operation, 0, 2), x(operation, 2, 2);
    const ComplexMatrices y_columns = y.transposed(), x_columns = x.transposed();
    const int64_t n = x.rows();
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room);
        double *loaded = room + 2 * n * n;
        const int size = int(n);
        int info = 0;
        x_columns.load(matrix, a, 2, index, loaded);
        for (int64_t k = 0; k < n; ++k) matrix[k * n + k].im = 0;
        lapack.zpotrf("L", &size, room, &size, &info, 1);
        for (int64_t k = 0; k < n; ++k) {
            if (!(matrix[k * n + k].re > 0))
                return false;  // NaN does not always count as a failure
            std::fill(matrix + k * n, matrix + k * n + k, Complex{});
        }
        if (info == 0) y_columns.store(a, 0, index, matrix, loaded);
        return info == 0;
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room);
        double *loaded = room + 2 * n * n;
        x.load(matrix, a, 2, index, loaded);
        if (factor_hermitian(matrix, n))
            for (int64_t i = 0; i < n; ++i)
                std::fill(matrix + i * n + i + 1, matrix + (i + 1) * n, Complex{});
        else
            fill_nan(matrix, n * n);
        y.store(a, 0, index, matrix, loaded);
    };
    return plan_with_lapack(x.re, kLapackComplex, 3 * n * n, by_lapack, 3 * n * n, n * n * n, body);
}

}  // namespace infini::cpu
