// complex_eigh: diagonalises Hermitian matrices by rotations (Jacobi's method).
#include "linalg/complex.h"

namespace infini::cpu {
namespace {

constexpr int kSweeps = 40;

// Diagonalises m in place: v m v^H is diagonal. The vectors are the rows of v.
bool make_complex_diagonal(Complex *m, Complex *v, int64_t n) {
    for (int64_t i = 0; i < n * n; ++i) v[i] = {i % (n + 1) == 0 ? 1.0 : 0.0, 0};
    double whole = 0;
    for (int64_t i = 0; i < n * n; ++i) whole += squared(m[i]);
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        double rest = 0;
        for (int64_t p = 0; p < n; ++p)
            for (int64_t q = p + 1; q < n; ++q) rest += squared(m[p * n + q]);
        if (rest <= 1e-34 * whole) return true;
        for (int64_t p = 0; p < n; ++p)
            for (int64_t q = p + 1; q < n; ++q) {
                const Complex off = m[p * n + q];
                const double b = size(off);
                if (b == 0) continue;
                const Complex phase = off * (1 / b);
                const double tau = (m[q * n + q].re - m[p * n + p].re) / (2 * b);
                const double t = std::copysign(1.0, tau) / (std::abs(tau) + std::hypot(1.0, tau));
                const double c = 1 / std::hypot(1.0, t), s = t * c;
                // rows: p = c p - s phase q, q = s conj(phase) p + c q; columns likewise
                auto turn = [=](Complex &one, Complex &two, Complex by) {
                    const Complex x = one, y = two;
                    one = x * c - by * y * s;
                    two = conj(by) * x * s + y * c;
                };
                for (int64_t k = 0; k < n; ++k) turn(m[p * n + k], m[q * n + k], phase);
                for (int64_t k = 0; k < n; ++k) turn(m[k * n + p], m[k * n + q], conj(phase));
                for (int64_t k = 0; k < n; ++k) turn(v[p * n + k], v[q * n + k], phase);
                m[p * n + q] = m[q * n + p] = {};
            }
    }
    return false;
}

std::unique_ptr<Plan> plan_complex_eigh(const Operation &operation) {
    const Matrices w(operation.tensor(0), 1);
    const ComplexMatrices v(operation, 1, 2), x(operation, 3, 2);
    const int64_t n = x.rows();
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        Complex *m = as_complex(room), *rows = m + n * n;
        double *values = &rows[n * n].re, *spare = values + n;
        int64_t *order = reinterpret_cast<int64_t *>(spare + n * n);
        x.load(m, a, 3, index, spare);
        for (int64_t i = 0; i < n; ++i) {
            m[i * n + i].im = 0;
            for (int64_t k = 0; k < i; ++k) m[k * n + i] = conj(m[i * n + k]);
            order[i] = i;
        }
        const double scale = scale_down(m, n * n);
        if (has_nan(m, n * n) || !make_complex_diagonal(m, rows, n)) {
            fill_nan(m, n * n), fill_nan(rows, n * n);
        }
        auto value = [=](int64_t i) { return m[i * n + i].re; };
        std::stable_sort(order, order + n,
                         [=](int64_t i, int64_t k) { return value(i) < value(k); });
        for (int64_t i = 0; i < n; ++i) values[i] = value(order[i]) * scale;
        // Eigenvectors are the columns of v^H.
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < n; ++k) m[k * n + i] = conj(rows[order[i] * n + k]);
        w.store(a.pointer<void>(0), index, values);
        v.store(a, 1, index, m, spare);
    };
    const int64_t lwork = 2 * n + n * n, lrwork = 1 + 5 * n + 2 * n * n, liwork = 3 + 5 * n;
    // In column-major order x is its conjugate, whose upper triangle is read: eigenvectors are
    // returned as rows, conjugated.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        Complex *rows = as_complex(room), *made = rows + n * n;
        double *values = &made[n * n].re, *work = values + n, *rwork = work + 2 * lwork;
        double *spare = rwork + lrwork;
        int *iwork = reinterpret_cast<int *>(spare + n * n), info = 0;
        const int size = int(n), lsize = int(lwork), lrsize = int(lrwork), lisize = int(liwork);
        x.load(rows, a, 3, index, spare);
        for (int64_t i = 0; i < n; ++i) {  // elements that are not read may have any value
            rows[i * n + i].im = 0;
            std::fill(rows + i * n + i + 1, rows + (i + 1) * n, Complex{});
        }
        if (!is_finite(room, 2 * n * n)) return false;
        lapack.zheevd("V", "U", &size, room, &size, values, work, &lsize, rwork, &lrsize, iwork,
                      &lisize, &info, 1, 1);
        if (info != 0) return false;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < n; ++k) made[k * n + i] = conj(rows[i * n + k]);
        w.store(a.pointer<void>(0), index, values);
        v.store(a, 1, index, made, spare);
        return true;
    };
    return plan_with_lapack(x.re, kLapackComplex, 5 * n * n + n + 2 * lwork + lrwork + liwork,
                            by_lapack, 5 * n * n + 2 * n, n * n * n * 64, body);
}

INFINI_KERNEL("complex_eigh", plan_complex_eigh);

}  // namespace
}  // namespace infini::cpu
