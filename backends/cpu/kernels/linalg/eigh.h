// Eigenvalues and eigenvectors of a symmetric matrix: reduced to tridiagonal form by reflections,
// and that to diagonal form by rotations (the QL method with implicit shifts). The eigenvectors are
// the rows of Z, which makes rotations contiguous.
#pragma once

#include "linalg/qr.h"

namespace infini::cpu {

constexpr int kEighTries = 60;         // per eigenvalue
constexpr double kNegligible = 1e-19;  // relative to the largest element

struct Eigh {
    int64_t n;
    bool vectors = true;

    int64_t doubles() const { return 2 * n * n + 7 * n; }

    double *matrix(double *room) const { return room; }
    double *z(double *room) const { return room + n * n; }
    double *diagonal(double *room) const { return z(room) + n * n; }
    double *beside(double *room) const { return diagonal(room) + n; }  // the subdiagonal
    double *tau(double *room) const { return beside(room) + n; }
    double *line(double *room) const { return tau(room) + n; }
    double *turns(double *room) const { return line(room) + n; }  // pairs of cosine and sine

    // m = H T H^T, where T is tridiagonal. The Householder vectors of H are kept in m.
    void make_tridiagonal(double *room) const {
        double *m = matrix(room), *d = diagonal(room), *e = beside(room), *w = line(room);
        double *v = turns(room);
        for (int64_t k = 0; k + 1 < n; ++k) {
            const int64_t rest = n - k - 1, first = k + 1;
            double *corner = m + first * n + k;
            tau(room)[k] = make_reflection(corner, rest, n);
            const double t = tau(room)[k];
            d[k] = m[k * n + k], e[k] = corner[0];
            if (t == 0) continue;
            v[0] = 1;
            for (int64_t i = 1; i < rest; ++i) v[i] = corner[i * n];
            // The trailing matrix minus v w^T + w v^T, w = p - (t / 2) (p v) v, p = t rest v.
            double *block = m + first * n + first;
            const size_t grain = size_t(std::max<int64_t>(8, 16384 / rest));
            parallel_for(size_t(rest), grain, [=, this](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i)
                    w[i] = t * dot(block + i * n, v, rest);
            });
            add_scaled(w, v, -t / 2 * dot(w, v, rest), rest);
            parallel_for(size_t(rest), grain, [=, this](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    add_scaled(block + i * n, w, -v[i], rest);
                    add_scaled(block + i * n, v, -w[i], rest);
                }
            });
        }
        if (n) d[n - 1] = m[n * n - 1], e[n - 1] = 0;
    }

    // Applies the rotations of neighbours in [first, last), starting from the last, to the rows of
    // Z. Values that the next rotation needs are kept in registers.
    void turn_rows(double *room, int64_t first, int64_t last) const {
        double *rows = z(room);
        const double *cs = turns(room);
        if (first >= last) return;
        auto turn = [=, this]<class V, int kCount>(V, std::integral_constant<int, kCount>,
                                                   int64_t at) {
            constexpr int64_t kStep = kLanes<V>;
            V low[kCount];
            for (int k = 0; k < kCount; ++k) low[k] = load<V>(rows + last * n + at + k * kStep);
            for (int64_t i = last - 1; i >= first; --i) {
                const V c = broadcast<V>(cs[2 * i]), s = broadcast<V>(cs[2 * i + 1]);
                double *row = rows + i * n + at;
                for (int k = 0; k < kCount; ++k) {
                    const V high = load<V>(row + k * kStep);
                    store(row + n + k * kStep, V(fma(s, high, V(c * low[k]))));
                    low[k] = fma(c, high, V(-(s * low[k])));
                }
            }
            for (int k = 0; k < kCount; ++k) store(rows + first * n + at + k * kStep, low[k]);
        };
        constexpr int64_t kLine = kWidth<double>, kWide = 4 * kLine;
        const int64_t each = std::max<int64_t>(1, last - first);
        const size_t grain = size_t(std::max<int64_t>(1, 16384 / (each * kWide)));
        parallel_for(size_t((n + kWide - 1) / kWide), grain, [=, this](size_t begin, size_t end) {
            int64_t at = int64_t(begin) * kWide;
            const int64_t stop = std::min(n, int64_t(end) * kWide);
            for (; at + kWide <= stop; at += kWide)
                turn(F64(), std::integral_constant<int, 4>(), at);
            for (; at + kLine <= stop; at += kLine)
                turn(F64(), std::integral_constant<int, 1>(), at);
            for (; at < stop; ++at) turn(double(), std::integral_constant<int, 1>(), at);
        });
    }

    // False if it does not converge, for example with NaN.
    bool make_diagonal(double *room) const {
        double *d = diagonal(room), *e = beside(room), *cs = turns(room);
        constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
        // Elements far below the rounding errors of the largest one are dropped: they would only
        // take time, and rotations of subnormal numbers would not be orthogonal.
        double least = 0;
        for (int64_t i = 0; i < n; ++i)
            least = std::max({least, std::abs(d[i]), i + 1 < n ? std::abs(e[i]) : 0.0});
        least *= kNegligible;
        for (int64_t k = 0; k < n; ++k)
            for (int tries = 0;; ++tries) {
                int64_t last = k;  // the end of the unreduced block
                while (last + 1 < n &&
                       !(std::abs(e[last]) <=
                         std::max(least, kEpsilon * (std::abs(d[last]) + std::abs(d[last + 1])))))
                    ++last;
                if (last == k) break;
                if (tries == kEighTries) return false;
                double g = (d[k + 1] - d[k]) / (2 * e[k]);
                g = d[last] - d[k] + e[k] / (g + std::copysign(std::hypot(g, 1.0), g));
                double s = 1, c = 1, p = 0;
                int64_t i = last - 1;
                for (; i >= k; --i) {
                    const double f = s * e[i], b = c * e[i], r = std::hypot(f, g);
                    e[i + 1] = r;
                    if (r == 0) {  // the block splits here
                        d[i + 1] -= p, e[last] = 0;
                        break;
                    }
                    s = f / r, c = g / r;
                    g = d[i + 1] - p;
                    const double next = (d[i] - g) * s + 2 * c * b;
                    p = s * next;
                    d[i + 1] = g + p;
                    g = c * next - b;
                    cs[2 * i] = c, cs[2 * i + 1] = s;
                }
                if (vectors) turn_rows(room, i + 1, last);
                if (i >= k) continue;
                d[k] -= p, e[k] = g, e[last] = 0;
            }
        return true;
    }

    // Stores the eigenvalues in `diagonal`, their vectors in the rows of `matrix`. False for NaN.
    bool run(double *room) const {
        double *m = matrix(room), *rows = z(room), *d = diagonal(room);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < i; ++k) m[k * n + i] = m[i * n + k];
        make_tridiagonal(room);
        if (vectors) {
            make_q(rows, n, n, m, n, tau(room), line(room), 1);
            for (int64_t i = 0; i < n; ++i)
                for (int64_t k = 0; k < i; ++k) std::swap(rows[i * n + k], rows[k * n + i]);
        }
        if (!make_diagonal(room)) {
            const double nan = std::numeric_limits<double>::quiet_NaN();
            std::fill(d, d + n, nan);
            std::fill(m, m + n * n, nan);
            return false;
        }
        int64_t *order = reinterpret_cast<int64_t *>(turns(room));
        double *sorted = line(room);
        for (int64_t i = 0; i < n; ++i) order[i] = i;
        std::stable_sort(order, order + n, [=](int64_t a, int64_t b) { return d[a] < d[b]; });
        for (int64_t i = 0; i < n; ++i) {
            sorted[i] = d[order[i]];
            if (vectors) std::copy(rows + order[i] * n, rows + order[i] * n + n, m + i * n);
        }
        std::copy(sorted, sorted + n, d);
        return true;
    }
};

}  // namespace infini::cpu
