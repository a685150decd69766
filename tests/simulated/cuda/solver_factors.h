// Factorizations in plain loops, for the simulated cuSOLVER. Matrices are columns of E: float,
// double, or complex numbers of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace simulated {

template <class E>
struct Parts {
    using Real = E;
    static E conj(E x) { return x; }
    static E size(E x) { return std::abs(x); }  // that pivots are compared by
};
template <class R>
struct Parts<std::complex<R>> {
    using Real = R;
    static std::complex<R> conj(std::complex<R> x) { return std::conj(x); }
    static R size(std::complex<R> x) { return std::abs(x.real()) + std::abs(x.imag()); }
};
template <class E>
using Real = typename Parts<E>::Real;
template <class E>
E conj(E x) {
    return Parts<E>::conj(x);
}

template <class E>
struct Matrix {
    E *data;
    int64_t lead;

    E &operator()(int64_t row, int64_t column) const { return data[column * lead + row]; }
    E *column(int64_t k) const { return data + k * lead; }
};

template <class E>
E dot(const E *x, const E *y, int64_t n) {  // conj(x) y
    E sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += conj(x[i]) * y[i];
    return sum;
}
template <class E>
Real<E> length(const E *x, int64_t n) {
    return std::sqrt(std::real(dot(x, x, n)));
}
// The number of size 1 in the direction of z.
template <class E>
E direction(E z) {
    return z == E(0) ? E(1) : z / E(std::abs(z));
}
// Columns x and y, rotated.
template <class E>
void rotate(E *x, E *y, int64_t n, Real<E> c, Real<E> s) {
    for (int64_t i = 0; i < n; ++i) {
        const E u = x[i], v = y[i];
        x[i] = c * u - s * v, y[i] = s * u + c * v;
    }
}
// The cosine and sine that make two vectors orthogonal, of these squares and this product.
template <class R>
void find_rotation(R xx, R yy, R xy, R *c, R *s) {
    const R zeta = (yy - xx) / (2 * xy);
    const R t = std::copysign(1 / (std::abs(zeta) + std::hypot(R(1), zeta)), zeta);
    *c = 1 / std::hypot(R(1), t), *s = *c * t;
}

template <class E>
void factor_lu(Matrix<E> a, int64_t m, int64_t n, int64_t *pivots, int *info) {
    *info = 0;
    for (int64_t k = 0; k < std::min(m, n); ++k) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < m; ++i)
            if (Parts<E>::size(a(i, k)) > Parts<E>::size(a(pivot, k))) pivot = i;
        pivots[k] = pivot + 1;
        for (int64_t j = 0; j < n && pivot != k; ++j) std::swap(a(k, j), a(pivot, j));
        if (a(k, k) == E(0)) {
            if (*info == 0) *info = int(k + 1);
            continue;
        }
        for (int64_t i = k + 1; i < m; ++i) a(i, k) /= a(k, k);
        for (int64_t j = k + 1; j < n; ++j)
            for (int64_t i = k + 1; i < m; ++i) a(i, j) -= a(i, k) * a(k, j);
    }
}
template <class E>
void solve_lu(Matrix<E> a, int64_t n, const int64_t *pivots, Matrix<E> b, int64_t sides) {
    for (int64_t j = 0; j < sides; ++j) {
        for (int64_t k = 0; k < n; ++k) std::swap(b(k, j), b(pivots[k] - 1, j));
        for (int64_t k = 0; k < n; ++k)
            for (int64_t i = k + 1; i < n; ++i) b(i, j) -= a(i, k) * b(k, j);
        for (int64_t k = n - 1; k >= 0; --k) {
            b(k, j) /= a(k, k);
            for (int64_t i = 0; i < k; ++i) b(i, j) -= a(i, k) * b(k, j);
        }
    }
}
template <class E>
void factor_cholesky(Matrix<E> a, int64_t n, int *info) {
    *info = 0;
    for (int64_t k = 0; k < n; ++k) {
        const Real<E> square = std::real(a(k, k));
        if (!(square > 0)) {
            *info = int(k + 1);
            return;
        }
        a(k, k) = std::sqrt(square);
        for (int64_t i = k + 1; i < n; ++i) a(i, k) /= a(k, k);
        for (int64_t j = k + 1; j < n; ++j)
            for (int64_t i = j; i < n; ++i) a(i, j) -= a(i, k) * conj(a(j, k));
    }
}

// x becomes x - tau v (v^H x), where v[0] is 1.
template <class E>
void reflect(E *x, const E *v, int64_t n, E tau) {
    const E sum = tau * (x[0] + dot(v + 1, x + 1, n - 1));
    x[0] -= sum;
    for (int64_t i = 1; i < n; ++i) x[i] -= sum * v[i];
}
template <class E>
void factor_qr(Matrix<E> a, int64_t m, int64_t n, E *tau) {
    for (int64_t k = 0; k < std::min(m, n); ++k) {
        E *x = a.column(k) + k;
        const Real<E> below = length(x + 1, m - k - 1);
        tau[k] = 0;
        if (below == 0 && std::imag(x[0]) == 0) continue;
        const E first = x[0];
        const Real<E> whole = std::hypot(std::abs(first), below);
        const Real<E> result = -std::copysign(whole, std::real(first));
        tau[k] = (E(result) - first) / E(result);
        for (int64_t i = 1; i < m - k; ++i) x[i] /= first - E(result);
        x[0] = result;
        for (int64_t j = k + 1; j < n; ++j) reflect(a.column(j) + k, x, m - k, conj(tau[k]));
    }
}
template <class E>
void make_q(Matrix<E> a, int64_t m, int64_t n, const E *tau) {
    const std::vector<E> kept(a.data, a.data + (n - 1) * a.lead + m);
    for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i) a(i, j) = i == j ? 1 : 0;
    for (int64_t k = n - 1; k >= 0; --k)
        for (int64_t j = k; j < n; ++j)
            reflect(a.column(j) + k, kept.data() + k * a.lead + k, m - k, tau[k]);
}

}  // namespace simulated
