// complex_qr: Householder reflections on complex matrices.
#include "linalg/complex.h"

namespace infini::cpu {
namespace {

// q: m x k, r: k x n, from x: m x n, which is overwritten. v: m elements, taus: k. The diagonal of
// r is real, as in LAPACK.
void factor_complex_qr(Complex *x, int64_t m, int64_t n, Complex *q, Complex *r, Complex *v,
                       Complex *taus) {
    const int64_t k = std::min(m, n);
    // x = H_0 H_1 ... R with H = 1 - tau v v^H, where v is kept below the diagonal of x.
    auto reflect = [&](Complex *c, int64_t columns, int64_t from, int64_t step, Complex tau) {
        for (int64_t j = from; j < columns; ++j) {
            Complex sum;
            for (int64_t i = step; i < m; ++i) sum += conj(v[i]) * c[i * columns + j];
            for (int64_t i = step; i < m; ++i) c[i * columns + j] -= v[i] * (sum * tau);
        }
    };
    for (int64_t s = 0; s < k; ++s) {
        double below = 0;
        for (int64_t i = s + 1; i < m; ++i) below += squared(x[i * n + s]);
        const Complex first = x[s * n + s];
        taus[s] = {};
        if (below < 1e-60) {  // relative to a largest element of 1
            for (int64_t i = s + 1; i < m; ++i) x[i * n + s] = {};
            if (first.im == 0) continue;
            below = 0;
        }
        const double length = -std::copysign(std::sqrt(below + squared(first)), first.re);
        taus[s] = {(length - first.re) / length, -first.im / length};
        // The vector is scaled so that its first element, which is not stored, is 1.
        const Complex scale = first - Complex{length, 0};
        v[s] = {1, 0};
        for (int64_t i = s + 1; i < m; ++i) v[i] = x[i * n + s] = x[i * n + s] / scale;
        reflect(x, n, s + 1, s, conj(taus[s]));
        x[s * n + s] = {length, 0};
    }
    for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < n; ++j) r[i * n + j] = j < i ? Complex{} : x[i * n + j];
    for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < k; ++j) q[i * k + j] = {i == j ? 1.0 : 0.0, 0};
    for (int64_t s = k - 1; s >= 0; --s) {
        if (taus[s].re == 0 && taus[s].im == 0) continue;
        v[s] = {1, 0};
        for (int64_t i = s + 1; i < m; ++i) v[i] = x[i * n + s];
        reflect(q, k, s, s, taus[s]);
    }
}

std::unique_ptr<Plan> plan_complex_qr(const Operation &operation) {
    const ComplexMatrices q(operation, 0, 2), r(operation, 2, 2), x(operation, 4, 2);
    const int64_t m = x.rows(), n = x.columns(), k = std::min(m, n);
    const int64_t doubles = 2 * (m * n + m * k + k * n + m + k) + std::max(m * n, m * m);
    const ComplexMatrices q_columns = q.transposed(), x_columns = x.transposed();
    const int64_t lwork = kLapackBlock * n;
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room), *right = matrix + m * n, *tau = right + k * n;
        double *work = &tau[k].re, *spare = work + 2 * lwork;
        const int rows = int(m), columns = int(n), count = int(k), size = int(lwork);
        int info = 0;
        x_columns.load(matrix, a, 4, index, spare);
        if (!is_finite(room, 2 * m * n)) return false;
        lapack.zgeqrf(&rows, &columns, room, &rows, &tau->re, work, &size, &info);
        if (info != 0) return false;
        for (int64_t i = 0; i < k; ++i)
            for (int64_t j = 0; j < n; ++j)
                right[i * n + j] = j < i ? Complex{} : matrix[j * m + i];
        lapack.zungqr(&rows, &count, &count, room, &rows, &tau->re, work, &size, &info);
        if (info != 0) return false;
        q_columns.store(a, 0, index, matrix, spare);
        r.store(a, 2, index, right, spare);
        return true;
    };
    auto body = [=](const Arguments &a, int64_t index, double *room) {
        Complex *matrix = as_complex(room), *left = matrix + m * n;
        Complex *right = left + m * k, *v = right + k * n, *taus = v + m;
        double *spare = &taus[k].re;
        x.load(matrix, a, 4, index, spare);
        const double scale = scale_down(matrix, m * n);
        factor_complex_qr(matrix, m, n, left, right, v, taus);
        for (int64_t i = 0; i < k * n; ++i) right[i] = right[i] * scale;
        q.store(a, 0, index, left, spare);
        r.store(a, 2, index, right, spare);
    };
    return plan_with_lapack(x.re, kLapackComplex, 3 * m * n + 2 * k * (n + 1) + 2 * lwork,
                            by_lapack, doubles, m * n * k * 8, body);
}

INFINI_KERNEL("complex_qr", plan_complex_qr);

}  // namespace
}  // namespace infini::cpu
