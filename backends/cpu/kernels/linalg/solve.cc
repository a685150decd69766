// inverse and solve: systems solved by LU factors, also complex ones; triangular systems by
// substitution.
#include <cmath>
#include <cstdint>

#include "linalg/complex_lu.h"
#include "linalg/lu.h"
#include "simd.h"
#include "threads.h"

namespace infini::cpu {

// complex_inverse and complex_solve: systems solved by LU factors.
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
    // The matrix, the right-hand sides, memory to load them, n integers.
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

// Triangular systems: by substitution, four rows at a time.
enum class Triangle { kNone, kLower, kUpper };

// Whether an n x n matrix is triangular with a finite nonzero diagonal.
inline Triangle triangle_of(const double *m, int64_t n) {
    bool lower = true, upper = true;
    for (int64_t i = 0; i < n && (lower || upper); ++i) {
        const double *row = m + i * n;
        if (row[i] == 0 || !std::isfinite(row[i])) return Triangle::kNone;
        double below = 0, above = 0;  // NaN makes the sum unequal to 0
        for (int64_t j = 0; j < i; ++j) below += std::fabs(row[j]);
        for (int64_t j = i + 1; j < n; ++j) above += std::fabs(row[j]);
        lower = lower && above == 0, upper = upper && below == 0;
    }
    return lower ? Triangle::kLower : upper ? Triangle::kUpper : Triangle::kNone;
}

// x, with a pitch of `columns`: `count` vectors V of right-hand sides, replaced by solutions.
template <class V, int count>
void substitute(const double *m, int64_t n, bool upper, double *x, int64_t columns) {
    constexpr int64_t width = int64_t(kLanes<V>);
    // Row r in the order of the substitution.
    const auto row_of = [=](int64_t r) { return upper ? n - 1 - r : r; };
    const auto solve = [&]<int rows>(std::integral_constant<int, rows>, int64_t first) {
        V sums[rows][count];
        const double *factors[rows];
#pragma GCC unroll 4
        for (int k = 0; k < rows; ++k) {
            factors[k] = m + row_of(first + k) * n;
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
                const V known = sums[k][c] / factors[k][row];
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

// Replaces x [n, columns], which holds b, by the solution of m x = b.
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
                substitute<F64, 2>(m, n, upper, at, columns);
                continue;
            }
            for (; left >= int64_t(kWidth<double>); left -= int64_t(kWidth<double>)) {
                substitute<F64, 1>(m, n, upper, at, columns);
                at += kWidth<double>;
            }
            for (; left > 0; --left, ++at) substitute<double, 1>(m, n, upper, at, columns);
        }
    });
}

namespace {

// `room`: the n x n matrix, n integers, then the right-hand sides, replaced by the solutions.
void solve(double *room, int64_t n, double *sides, int64_t columns) {
    int64_t *swaps = reinterpret_cast<int64_t *>(room + n * n);
    if (factor_lu(room, n, swaps, 0) == n)
        solve_lu(room, n, swaps, sides, columns);
    else
        std::fill(sides, sides + n * columns, std::numeric_limits<double>::quiet_NaN());
}

std::unique_ptr<Plan> plan_inverse(const Operation &operation) {
    const Matrices y(operation.tensor(0), 2), x(operation.tensor(1), 2);
    const int64_t n = x.rows, lwork = kLapackBlock * n;
    // LAPACK inverts the transpose, which gives the transpose of the inverse.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        int *swaps = reinterpret_cast<int *>(room + n * n), info = 0;
        double *work = room + n * n + n;
        const int size = int(n), work_size = int(lwork);
        x.load(room, a.pointer<void>(1), i);
        if (!factor_lu(lapack, room, size, swaps, 0)) return false;
        lapack.dgetri(&size, room, &size, swaps, work, &work_size, &info);
        if (info == 0) y.store(a.pointer<void>(0), i, room);
        return info == 0;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n + n;
        x.load(room, a.pointer<void>(1), i);
        set_identity(sides, n, n);
        solve(room, n, sides, n);
        y.store(a.pointer<void>(0), i, sides);
    };
    return plan_with_lapack(x, kLapackLu, n * n + n + lwork, by_lapack, 2 * n * n + n,
                            n * n * (n + 8), body);
}

std::unique_ptr<Plan> plan_solve(const Operation &operation) {
    const Matrices x(operation.tensor(0), 2), m(operation.tensor(1), 2), b(operation.tensor(2), 2);
    const Matrices x_columns = x.transposed(), m_columns = m.transposed();
    const Matrices b_columns = b.transposed();
    const int64_t n = m.rows, columns = b.columns, doubles = n * n + n + n * columns;
    auto by_substitution = [=](const Arguments &a, int64_t i, double *room) {
        double *sides = room + n * n + n;
        m.load(room, a.pointer<void>(1), i);
        const Triangle triangle = triangle_of(room, n);
        if (triangle == Triangle::kNone) return false;
        b.load(sides, a.pointer<void>(2), i);
        solve_triangular(room, n, triangle, sides, columns);
        x.store(a.pointer<void>(0), i, sides);
        return true;
    };
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        if (by_substitution(a, i, room)) return true;
        int *swaps = reinterpret_cast<int *>(room + n * n), info = 0;
        double *sides = room + n * n + n;
        const int size = int(n), count = int(columns);
        m_columns.load(room, a.pointer<void>(1), i);
        b_columns.load(sides, a.pointer<void>(2), i);
        if (!is_finite(sides, n * columns) || !factor_lu(lapack, room, size, swaps, 0))
            return false;
        lapack.dgetrs("N", &size, &count, room, &size, swaps, sides, &size, &info, 1);
        if (info == 0) x_columns.store(a.pointer<void>(0), i, sides);
        return info == 0;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        if (by_substitution(a, i, room)) return;
        double *sides = room + n * n + n;
        m.load(room, a.pointer<void>(1), i);
        b.load(sides, a.pointer<void>(2), i);
        solve(room, n, sides, columns);
        x.store(a.pointer<void>(0), i, sides);
    };
    return plan_with_lapack(m, kLapackLu, doubles, by_lapack, doubles,
                            n * n * (n / 2 + columns + 8), body);
}

std::unique_ptr<Plan> plan_linear(const Operation &operation) {
    if (operation.is("complex_inverse") || operation.is("complex_solve"))
        return plan_complex_linear(operation);
    return operation.is("inverse") ? plan_inverse(operation) : plan_solve(operation);
}

INFINI_KERNEL("solve", plan_linear);

}  // namespace

}  // namespace infini::cpu
