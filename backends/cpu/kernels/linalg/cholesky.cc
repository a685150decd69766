// cholesky: the triangular factor of a positive definite matrix, real or complex.

#include "linalg/blocks.h"
#include "linalg/complex.h"

namespace infini::cpu {

// complex_cholesky: the triangular factor of a Hermitian positive definite matrix.

// Replaces the lower triangle of m by the factor. False if m is not positive definite.
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

namespace {

constexpr int64_t kPanel = 16;

// Replaces the lower triangle of m by the factor and sets the upper triangle to zeros. False if m
// is not positive definite. `lines` has room for kPanel rows.
bool factor(double *m, int64_t n, double *lines) {
    for (int64_t first = 0; first < n; first += kPanel) {
        const int64_t last = std::min(first + kPanel, n);
        for (int64_t k = first; k < last; ++k) {
            const double square = m[k * n + k];
            if (!(square > 0)) return false;
            const double pivot = std::sqrt(square);
            m[k * n + k] = pivot;
            for (int64_t i = k + 1; i < n; ++i) {
                double *row = m + i * n;
                row[k] /= pivot;
                for (int64_t j = k + 1; j < std::min(last, i + 1); ++j)
                    row[j] -= row[k] * m[j * n + k];
            }
        }
        // The trailing matrix, minus the panel times its transpose, which is in `lines`.
        for (int64_t i = last; i < n; ++i)
            for (int64_t k = first; k < last; ++k) lines[(k - first) * n + i] = m[i * n + k];
        const size_t grain = size_t(std::max<int64_t>(8, 8192 / n));
        parallel_for(size_t(n - last), grain, [=](size_t begin, size_t end) {
            for (int64_t at = int64_t(begin); at < int64_t(end); at += 4) {
                const int64_t i = last + at, rows = std::min<int64_t>(4, int64_t(end) - at);
                add_product_range({m + i * n + last, n}, {m + i * n + first, n}, {lines + last, n},
                                  rows, last - first, at + rows, -1);
            }
        });
    }
    for (int64_t i = 0; i < n; ++i) std::fill(m + i * n + i + 1, m + i * n + n, 0.0);
    return true;
}

std::unique_ptr<Plan> plan_cholesky(const Operation &operation) {
    if (operation.is("complex_cholesky")) return plan_complex_cholesky(operation);
    Matrices y(operation.tensor(0), 2), x(operation.tensor(1), 2);
    if (operation.integer(0)) y = y.transposed(), x = x.transposed();
    const Matrices y_upper = y.transposed(), x_upper = x.transposed();
    const int64_t n = x.rows;
    const bool parallel = is_worth_threads(x);
    auto by_blocks = [=]<class T>(T, const Arguments *a, int64_t i, Room &room) {
        const Part<T> matrix = {room.take<T>(n * n), n};
        Blocks<T> blocks(parallel, room.take<char>(0));
        if (a) x_upper.load(matrix.data, a->pointer<void>(1), i);
        if (!blocks.factor_cholesky(matrix, n)) return false;
        room.take<char>(int64_t(blocks.bytes()));
        if (!a) return true;
        for (int64_t k = 0; k < n; ++k) std::fill_n(matrix.row(k), k, T(0));
        y_upper.store(a->pointer<void>(0), i, matrix.data);
        return true;
    };
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        x.load(room, a.pointer<void>(1), i);
        if (!factor(room, n, room + n * n))
            std::fill(room, room + n * n, std::numeric_limits<double>::quiet_NaN());
        y.store(a.pointer<void>(0), i, room);
    };
    return plan_with_blocks(x.count(), n >= kBlocksFrom, by_dtype(x, by_blocks), n * n + kPanel * n,
                            n * n * (n / 4 + 8), body);
}

INFINI_KERNEL("cholesky", plan_cholesky);

}  // namespace

}  // namespace infini::cpu
