// Singular values and eigenvalues in plain loops, for the simulated cuSOLVER.
#pragma once

#include "solver_factors.h"

namespace simulated {

// Rotates columns of a until they are orthogonal (Hestenes), and those of v with them.
template <class E>
void make_orthogonal(Matrix<E> a, int64_t m, int64_t n, Matrix<E> v) {
    using R = Real<E>;
    const R limit = R(5) * std::numeric_limits<R>::epsilon() * R(m);
    bool changed = true;
    for (int sweep = 0; changed && sweep < 60; ++sweep) {
        changed = false;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = i + 1; j < n; ++j) {
                E *x = a.column(i), *y = a.column(j);
                const R xx = std::real(dot(x, x, m)), yy = std::real(dot(y, y, m));
                const E xy = dot(x, y, m), turn = conj(direction(xy));
                if (!(std::abs(xy) > limit * std::sqrt(xx) * std::sqrt(yy))) continue;
                changed = true;
                R c, s;
                find_rotation(xx, yy, R(std::abs(xy)), &c, &s);
                for (int64_t k = 0; k < m; ++k) y[k] *= turn;
                for (int64_t k = 0; k < n; ++k) v(k, j) *= turn;
                rotate(x, y, m, c, s), rotate(v.column(i), v.column(j), n, c, s);
            }
    }
}
template <class R>
std::vector<int64_t> ordered(const std::vector<R> &values, bool descending) {
    std::vector<int64_t> order(values.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = int64_t(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return descending ? values[size_t(a)] > values[size_t(b)]
                          : values[size_t(a)] < values[size_t(b)];
    });
    return order;
}
// A column of length 1 that is orthogonal to those before it.
template <class E>
void complete(Matrix<E> u, int64_t m, int64_t k) {
    for (int64_t unit = 0; unit < m; ++unit) {
        E *x = u.column(k);
        for (int64_t i = 0; i < m; ++i) x[i] = i == unit ? 1 : 0;
        for (int pass = 0; pass < 2; ++pass)
            for (int64_t j = 0; j < k; ++j) {
                const E along = dot(u.column(j), x, m);
                for (int64_t i = 0; i < m; ++i) x[i] -= along * u(i, j);
            }
        const Real<E> size = length(x, m);
        if (size * size * Real<E>(2 * m) < 1) continue;  // too near to the others
        for (int64_t i = 0; i < m; ++i) x[i] /= size;
        return;
    }
}
// a = u diag(values) v^H, where u has `vectors` columns, at least n.
template <class E>
void factor_svd(Matrix<E> a, int64_t m, int64_t n, Real<E> *values, Matrix<E> u, int64_t vectors,
                Matrix<E> v) {
    std::vector<E> turned(size_t(n * n));
    std::vector<Real<E>> norms;
    const Matrix<E> all{turned.data(), n};
    for (int64_t i = 0; i < n; ++i) all(i, i) = 1;
    make_orthogonal(a, m, n, all);
    for (int64_t k = 0; k < n; ++k) norms.push_back(length(a.column(k), m));
    const std::vector<int64_t> order = ordered(norms, true);
    const Real<E> least = 500 * std::numeric_limits<Real<E>>::epsilon();
    for (int64_t k = 0; k < vectors; ++k) {
        if (k >= n) {
            complete(u, m, k);
            continue;
        }
        const int64_t from = order[size_t(k)];
        values[k] = norms[size_t(from)];
        for (int64_t i = 0; i < n; ++i) v(i, k) = all(i, from);
        if (values[k] <= least * values[0]) {
            complete(u, m, k);
            continue;
        }
        for (int64_t i = 0; i < m; ++i) u(i, k) = a(i, from) / values[k];
    }
}

// Jacobi rotations of rows and columns; uses the lower triangle.
template <class E>
void factor_symmetric(Matrix<E> a, int64_t n, Real<E> *values) {
    using R = Real<E>;
    std::vector<E> made(size_t(n * n));
    std::vector<R> found;
    const Matrix<E> v{made.data(), n};
    R all = 0;
    for (int64_t j = 0; j < n; ++j) {
        v(j, j) = 1, a(j, j) = std::real(a(j, j));
        for (int64_t i = j + 1; i < n; ++i) a(j, i) = conj(a(i, j));
    }
    for (int64_t j = 0; j < n; ++j) all += std::real(dot(a.column(j), a.column(j), n));
    const R limit = std::numeric_limits<R>::epsilon() / 20 * std::sqrt(all);
    bool changed = true;
    for (int sweep = 0; changed && sweep < 60; ++sweep) {
        changed = false;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = i + 1; j < n; ++j) {
                if (!(std::abs(a(i, j)) > limit)) continue;
                changed = true;
                const E turn = conj(direction(a(i, j)));
                for (int64_t k = 0; k < n; ++k) a(k, j) *= turn, v(k, j) *= turn;
                for (int64_t k = 0; k < n; ++k) a(j, k) *= conj(turn);
                R c, s;
                find_rotation(std::real(a(i, i)), std::real(a(j, j)), R(std::real(a(i, j))), &c,
                              &s);
                rotate(a.column(i), a.column(j), n, c, s);
                for (int64_t k = 0; k < n; ++k) {
                    const E x = a(i, k), y = a(j, k);
                    a(i, k) = c * x - s * y, a(j, k) = s * x + c * y;
                }
                a(i, j) = a(j, i) = 0;
                rotate(v.column(i), v.column(j), n, c, s);
            }
    }
    for (int64_t k = 0; k < n; ++k) found.push_back(std::real(a(k, k)));
    const std::vector<int64_t> order = ordered(found, false);
    for (int64_t k = 0; k < n; ++k) {
        values[k] = found[size_t(order[size_t(k)])];
        std::copy_n(v.column(order[size_t(k)]), n, a.column(k));
    }
}

}  // namespace simulated
