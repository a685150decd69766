// complex_inverse and complex_solve: equations by LU factors.
#pragma once

#include "linalg/complex_lu.h"

namespace infini::cpu {

inline void set_identity(Complex *m, int64_t n) {
    std::fill(m, m + n * n, Complex{});
    for (int64_t i = 0; i < n; ++i) m[i * n + i] = {1, 0};
}

inline std::unique_ptr<Plan> plan_complex_linear(const Operation &operation) {
    const bool is_inverse = operation.is("complex_inverse");
    const ComplexMatrices x(operation, 0, 2), m(operation, 2, 2);
    const ComplexMatrices b(operation, is_inverse ? 2 : 4, 2);
    const ComplexMatrices x_columns = x.transposed(), m_columns = m.transposed();
    const ComplexMatrices b_columns = b.transposed();
    const int64_t n = m.rows(), columns = x.columns(), spare = std::max(n * n, n * columns);
    // The matrix, the right-hand sides, room to load them, n integers.
    const int64_t doubles = 2 * n * (n + columns) + spare + n;
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room), *sides = matrix + n * n;
        double *loaded = &sides[n * columns].re;
        int *swaps = reinterpret_cast<int *>(loaded + spare), info = 0;
        const int size = int(n), count = int(columns);
        m_columns.load(matrix, a, 2, index, loaded);
        if (is_inverse)
            set_identity(sides, n);
        else
            b_columns.load(sides, a, 4, index, loaded);
        if (!is_finite(room, 2 * n * (n + columns))) return false;
        lapack.zgetrf(&size, &size, room, &size, swaps, &info);
        if (info != 0) return false;
        lapack.zgetrs("N", &size, &count, room, &size, swaps, &sides->re, &size, &info, 1);
        if (info == 0) x_columns.store(a, 0, index, sides, loaded);
        return info == 0;
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room), *sides = matrix + n * n;
        double *loaded = &sides[n * columns].re;
        int64_t *swaps = reinterpret_cast<int64_t *>(loaded + spare);
        m.load(matrix, a, 2, index, loaded);
        if (is_inverse)
            set_identity(sides, n);
        else
            b.load(sides, a, 4, index, loaded);
        factor_complex_lu(matrix, n, n, swaps);
        if (!solve_complex_lu(matrix, n, swaps, sides, columns)) fill_nan(sides, n * columns);
        x.store(a, 0, index, sides, loaded);
    };
    return plan_with_lapack(m.re, kLapackComplex, doubles, by_lapack, doubles,
                            n * n * (n + columns) * 4, body);
}

}  // namespace infini::cpu
