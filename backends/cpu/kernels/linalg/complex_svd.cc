// complex_svd: rotations that make the columns of a matrix orthogonal (one-sided Jacobi method).
// Columns are stored as rows. Left vectors of singular values of 0 are completed to a basis.
#include "linalg/complex.h"

namespace infini::cpu {
namespace {

constexpr int kSvdSweeps = 40;

// x: n rows of m elements, the columns of a matrix with m >= n; v: n rows of n.
bool make_orthogonal(Complex *x, Complex *v, int64_t m, int64_t n) {
    for (int64_t i = 0; i < n * n; ++i) v[i] = {i % (n + 1) == 0 ? 1.0 : 0.0, 0};
    double whole = 0;
    for (int64_t i = 0; i < m * n; ++i) whole += squared(x[i]);
    for (int sweep = 0; sweep < kSvdSweeps; ++sweep) {
        bool done = true;
        for (int64_t p = 0; p < n; ++p)
            for (int64_t q = p + 1; q < n; ++q) {
                Complex *one = x + p * m, *two = x + q * m, off;
                double a = 0, b = 0;
                for (int64_t k = 0; k < m; ++k) {
                    a += squared(one[k]), b += squared(two[k]);
                    off += conj(one[k]) * two[k];
                }
                const double g = size(off);
                // The remainder of a linearly dependent column has no direction.
                const bool is_rest = std::min(a, b) <= 1e-32 * whole;
                if (g == 0 || is_rest || g <= 1e-15 * std::sqrt(a * b)) continue;
                done = false;
                const Complex phase = conj(off * (1 / g));  // gives column q the phase of p
                const double zeta = (b - a) / (2 * g);
                const double t =
                    std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
                const double c = 1 / std::hypot(1.0, t), s = c * t;
                auto turn = [=](Complex *left, Complex *right, int64_t count) {
                    for (int64_t k = 0; k < count; ++k) {
                        const Complex y = left[k], z = right[k] * phase;
                        left[k] = y * c - z * s;
                        right[k] = y * s + z * c;
                    }
                };
                turn(one, two, m);
                turn(v + p * n, v + q * n, n);
            }
        if (done) return true;
    }
    return false;
}

// Replaces row `at` of length m by a unit vector orthogonal to the rows before it.
void make_up(Complex *rows, int64_t at, int64_t m) {
    Complex *row = rows + at * m;
    for (int64_t axis = 0; axis < m; ++axis) {
        for (int64_t k = 0; k < m; ++k) row[k] = {k == axis ? 1.0 : 0.0, 0};
        for (int twice = 0; twice < 2; ++twice)
            for (int64_t i = 0; i < at; ++i) {
                Complex sum;
                for (int64_t k = 0; k < m; ++k) sum += conj(rows[i * m + k]) * row[k];
                for (int64_t k = 0; k < m; ++k) row[k] -= rows[i * m + k] * sum;
            }
        double length = 0;
        for (int64_t k = 0; k < m; ++k) length += squared(row[k]);
        if (length * double(m) < 0.5) continue;
        for (int64_t k = 0; k < m; ++k) row[k] = row[k] * (1 / std::sqrt(length));
        return;
    }
}

std::unique_ptr<Plan> plan_complex_svd(const Operation &operation) {
    const ComplexMatrices u(operation, 0, 2), vh(operation, 3, 2), x(operation, 5, 2);
    const Matrices s(operation.tensor(2), 1);
    // A wide matrix is factored as its conjugate transpose.
    const int64_t rows = x.rows(), columns = x.columns(), k = std::min(rows, columns);
    const int64_t m = std::max(rows, columns);
    const bool wide = rows < columns;
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        Complex *given = as_complex(room), *lines = given + rows * columns;
        Complex *v = lines + m * k, *left = v + k * k;
        double *values = &left[m * k].re, *spare = values + k;
        int64_t *order = reinterpret_cast<int64_t *>(spare + rows * columns);
        x.load(given, a, 5, index, spare);
        for (int64_t i = 0; i < k; ++i)
            for (int64_t j = 0; j < m; ++j)
                lines[i * m + j] = wide ? conj(given[i * columns + j]) : given[j * columns + i];
        const double scale = scale_down(lines, m * k);
        if (has_nan(lines, m * k) || !make_orthogonal(lines, v, m, k))
            fill_nan(lines, m * k), fill_nan(v, k * k);
        for (int64_t i = 0; i < k; ++i) {
            double sum = 0;
            for (int64_t j = 0; j < m; ++j) sum += squared(lines[i * m + j]);
            spare[i] = std::sqrt(sum), order[i] = i;
        }
        std::stable_sort(order, order + k,
                         [=](int64_t p, int64_t q) { return spare[p] > spare[q]; });
        const double least = k ? spare[order[0]] * 1e-15 : 0;
        for (int64_t i = 0; i < k; ++i) {
            const double value = spare[order[i]];
            values[i] = value * scale;
            for (int64_t j = 0; j < m; ++j) left[i * m + j] = lines[order[i] * m + j] * (1 / value);
            if (value <= least) make_up(left, i, m);
        }
        s.store(a.pointer<void>(2), index, values);
        // x = sum of left[i]^T values[i] conj(v row i); swapped for a wide matrix.
        Complex *one = given, *two = lines;  // u, vh
        for (int64_t i = 0; i < k; ++i) {
            const Complex *turned = v + order[i] * k;
            for (int64_t j = 0; j < rows; ++j) one[j * k + i] = wide ? turned[j] : left[i * m + j];
        }
        u.store(a, 0, index, one, spare);
        for (int64_t i = 0; i < k; ++i) {
            const Complex *turned = v + order[i] * k;
            for (int64_t j = 0; j < columns; ++j)
                two[i * columns + j] = conj(wide ? left[i * m + j] : turned[j]);
        }
        vh.store(a, 3, index, two, spare);
    };
    const int64_t spare = std::max(rows * columns, m * k) + k;
    const int64_t lwork = k * k + 2 * k + kLapackBlock * (m + k);
    const int64_t lrwork = std::max(5 * k * k + 5 * k, 2 * m * k + 2 * k * k + k);
    // In column-major order x is its transpose, conj(V) S U^T: V^H and U are returned as rows.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room), *left = matrix + rows * columns;
        Complex *right = left + rows * k;
        double *values = &right[k * columns].re, *work = values + k, *rwork = work + 2 * lwork;
        double *own = rwork + lrwork;
        int *iwork = reinterpret_cast<int *>(own + rows * columns), info = 0;
        const int height = int(columns), width = int(rows), count = int(k), size = int(lwork);
        x.load(matrix, a, 5, index, own);
        if (!is_finite(room, 2 * rows * columns)) return false;
        lapack.zgesdd("S", &height, &width, room, &height, values, &right->re, &height, &left->re,
                      &count, work, &size, rwork, iwork, &info, 1);
        if (info != 0) return false;
        u.store(a, 0, index, left, own);
        s.store(a.pointer<void>(2), index, values);
        vh.store(a, 3, index, right, own);
        return true;
    };
    const int64_t lapack_doubles =
        3 * rows * columns + 2 * k * (rows + columns) + k + 2 * lwork + lrwork + 4 * k;
    const int64_t doubles = 2 * (rows * columns + 2 * m * k + k * k) + 2 * k + spare + m * m;
    return plan_with_lapack(x.re, kLapackComplex, lapack_doubles, by_lapack, doubles,
                            m * k * k * 64, body);
}

INFINI_KERNEL("complex_svd", plan_complex_svd);

}  // namespace
}  // namespace infini::cpu
