// Singular values and vectors. The rows of a matrix are orthogonalised from the left, J B = S U^T
// (Hestenes), so that its transpose is U S J. Most of the work is done by the eigenvectors of B
// B^T, which do not resolve rows that are small relative to the largest one: those rows are
// processed separately, in levels. Rotations of pairs then correct the last digits: a sweep
// processes the pairs in rounds of disjoint ones, so that threads divide a round and the result
// does not depend on them.
#pragma once

#include <atomic>

#include "linalg/eigh.h"

namespace infini::cpu {

constexpr int kSvdSweeps = 60;
constexpr int64_t kSvdSmall = 12;      // with at most this many rows, only rotations are used
constexpr double kSvdLevel = 1e-4;     // the smallest row of a level, relative to its largest
constexpr double kSvdDropped = 1e-30;  // columns that QR drops, relative to the matrix

struct Svd {
    int64_t rows, columns;  // at least as many rows as columns
    double tolerance;       // maximum cosine between rows that count as orthogonal

    bool is_tall() const { return rows > columns + columns / 4; }
    int64_t width() const { return is_tall() ? columns : rows; }
    int64_t doubles() const {
        return 2 * rows * columns + 2 * columns * width() + 2 * columns * columns +
               Eigh{columns}.doubles() + rows + 4 * columns;
    }

    // Sections of the workspace.
    double *matrix(double *room) const { return room; }  // x, then U
    double *q(double *room) const { return room + rows * columns; }
    double *lines(double *room) const { return q(room) + rows * columns; }  // B, `width` apart
    double *other(double *room) const { return lines(room) + columns * width(); }
    double *vh(double *room) const { return other(room) + columns * width(); }  // J
    double *turned(double *room) const { return vh(room) + columns * columns; }
    double *gram(double *room) const { return turned(room) + columns * columns; }
    double *values(double *room) const { return gram(room) + Eigh{columns}.doubles(); }
    double *tau(double *room) const { return values(room) + columns; }
    double *line(double *room) const { return tau(room) + columns; }
    int64_t *order(double *room) const {
        return reinterpret_cast<int64_t *>(line(room) + rows + columns);
    }

    double size_of(const double *row) const { return std::sqrt(dot(row, row, width())); }

    // Orthogonalises two rows unless one of them is negligible. Returns their cosine before.
    double rotate_pair(double *b, double *j, int64_t one, int64_t two, double least) const {
        double *x = b + one * width(), *y = b + two * width();
        const double xx = dot(x, x, width()), yy = dot(y, y, width()), xy = dot(x, y, width());
        if (std::min(xx, yy) <= least * least) return 0;
        const double cosine = std::abs(xy) / (std::sqrt(xx) * std::sqrt(yy));
        if (!(cosine > tolerance)) return 0;
        const double zeta = (yy - xx) / (2 * xy);
        const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        rotate(x, y, c, s, width());
        rotate(j + one * columns, j + two * columns, c, s, columns);
        return cosine;
    }

    // One sweep over all pairs of the first `count` rows. False if all are orthogonal; the
    // remaining cosines are of the order of the squares of those that were found.
    bool sweep(double *b, double *j, int64_t count, double least) const {
        const int64_t players = count + count % 2, others = players - 1;
        const size_t grain = size_t(std::max<int64_t>(1, 4096 / std::max<int64_t>(1, width())));
        const double again = 0.1 * std::sqrt(tolerance);
        std::atomic<bool> changed{false};
        for (int64_t round = 0; round < others; ++round)
            parallel_for(size_t(players / 2), grain, [&](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    const int64_t p = i ? (round + i) % others : others;
                    const int64_t q = (round + others - i) % others;
                    if (p >= count) continue;
                    const double cosine = rotate_pair(b, j, std::min(p, q), std::max(p, q), least);
                    if (cosine > again) changed.store(true, std::memory_order_relaxed);
                }
            });
        return changed.load();
    }

    // Replaces c (from row `first`) by the rows of w in reverse order times c.
    void turn(double *c, double *spare, const double *w, int64_t first, int64_t pitch) const {
        const int64_t count = columns - first;
        double *at = c + first * pitch;
        std::fill(spare, spare + count * pitch, 0.0);
        add_product({spare, pitch}, {w, count}, {at, pitch}, count, count, pitch, 1);
        for (int64_t i = 0; i < count; ++i)
            std::copy(spare + i * pitch, spare + (i + 1) * pitch, at + (count - 1 - i) * pitch);
    }

    // Transforms the rows from `first` by the eigenvectors of their Gram matrix. Returns how many
    // of them belong to this level; the others are orthogonal to these.
    int64_t make_level(double *room, int64_t first, double largest) const {
        const int64_t count = columns - first, pitch = width();
        const Eigh eigh = {count};
        double *b = lines(room) + first * pitch, *g = eigh.matrix(gram(room)), *t = other(room);
        const double scale = 1 / largest;
        for (int64_t i = 0; i < count; ++i)
            for (int64_t k = 0; k < pitch; ++k) t[k * count + i] = b[i * pitch + k] * scale;
        std::fill(g, g + count * count, 0.0);
        add_product({g, count}, {b, pitch}, {t, count}, count, pitch, count, scale);
        if (!eigh.run(gram(room))) return count;
        turn(lines(room), t, g, first, pitch);
        turn(vh(room), turned(room), g, first, columns);
        const double least = kSvdLevel * size_of(b);
        int64_t own = 1;
        while (own < count && size_of(b + own * pitch) > least) ++own;
        if (own == count) return own;
        // Removes the remaining components of the other rows along this level by a rotation that is
        // so small that its first order suffices: rest -= p level, level += p^T rest.
        const int64_t others = count - own;
        double *p = gram(room), *turned_p = p + own * others, *levels = t;
        for (int64_t i = 0; i < own; ++i)
            for (int64_t k = 0; k < pitch; ++k) levels[k * own + i] = b[i * pitch + k];
        std::fill(p, p + own * others, 0.0);
        add_product({p, own}, {b + own * pitch, pitch}, {levels, own}, others, pitch, own, 1);
        for (int64_t i = 0; i < own; ++i) {
            const double square = dot(b + i * pitch, b + i * pitch, pitch);
            for (int64_t k = 0; k < others; ++k)
                turned_p[i * others + k] = p[k * own + i] /= square;
        }
        shear(b, t, p, turned_p, own, others, pitch);
        shear(vh(room) + first * columns, turned(room), p, turned_p, own, others, columns);
        return own;
    }

    // Subtracts p times the first `own` rows of c from the next `others` rows, and adds p^T times
    // the latter to the former.
    void shear(double *c, double *spare, const double *p, const double *turned_p, int64_t own,
               int64_t others, int64_t pitch) const {
        std::copy(c, c + own * pitch, spare);
        add_product({c, pitch}, {turned_p, others}, {c + own * pitch, pitch}, own, others, pitch,
                    1);
        add_product({c + own * pitch, pitch}, {p, own}, {spare, pitch}, others, own, pitch, -1);
    }

    // Completes rows from `known` to unit vectors orthogonal to the rows before, which are
    // orthonormal.
    void complete(double *room, double *b, int64_t known) const {
        const int64_t pitch = width(), n = columns;
        if (known == n) return;
        double *m = other(room), *made = is_tall() ? gram(room) : q(room);
        double *spare = line(room), *factors = tau(room);
        for (int64_t i = 0; i < known; ++i)
            for (int64_t k = 0; k < pitch; ++k) m[k * known + i] = b[i * pitch + k];
        factor_qr(m, pitch, known, factors, spare);
        set_identity(made, pitch, n);
        for (int64_t k = known - 1; k >= 0; --k)
            reflect({made + k * n + k, n}, pitch - k, n - k, m + k * known + k, known, factors[k],
                    spare);
        for (int64_t i = known; i < n; ++i)
            for (int64_t k = 0; k < pitch; ++k) b[i * pitch + k] = made[k * n + i];
    }

    // Computes values, vh and U, which replaces `matrix`.
    void run(double *room) const {
        const int64_t n = columns, pitch = width();
        double *m = matrix(room), *b = lines(room), *j = vh(room), *s = values(room);
        // Scales the largest element to about 1, so that squares do not overflow.
        double most = 0;
        for (int64_t i = 0; i < rows * n; ++i)
            if (std::abs(m[i]) > most || std::isnan(m[i])) most = std::abs(m[i]);
        if (!std::isfinite(most)) {
            const double nan = std::numeric_limits<double>::quiet_NaN();
            std::fill(m, m + rows * n, nan);
            std::fill(j, j + n * n, nan);
            std::fill(s, s + n, nan);
            return;
        }
        int exponent = 0;
        std::frexp(most, &exponent);
        for (int64_t i = 0; i < rows * n; ++i) m[i] = std::ldexp(m[i], -exponent);
        if (is_tall()) make_small(room);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < pitch; ++k) b[i * pitch + k] = m[k * n + i];
        set_identity(j, n, n);
        orthogonalize(room, exponent);
        if (is_tall()) {
            // U = Q times the U of R.
            double *t = other(room);
            for (int64_t i = 0; i < n; ++i)
                for (int64_t k = 0; k < n; ++k) t[k * n + i] = b[i * n + k];
            std::fill(m, m + rows * n, 0.0);
            add_product({m, n}, {q(room), n}, {t, n}, rows, n, n, 1);
        } else {
            for (int64_t i = 0; i < n; ++i)
                for (int64_t k = 0; k < rows; ++k) m[k * n + i] = b[i * rows + k];
        }
    }

    // matrix = Q R, with R in its first rows and zeros below its diagonal.
    void make_small(double *room) const {
        double *m = matrix(room);
        for (int64_t k = 0; k < columns; ++k) {
            double *corner = m + k * columns + k, &factor = tau(room)[k];
            factor = make_reflection(corner, rows - k, columns);
            if (std::abs(corner[0]) < kSvdDropped) {  // would become subnormal, which is slow
                factor = 0;
                for (int64_t i = 1; i < rows - k; ++i) corner[i * columns] = 0;
            }
            reflect({corner + 1, columns}, rows - k, columns - k - 1, corner, columns, factor,
                    line(room));
        }
        make_q(q(room), rows, columns, m, columns, tau(room), line(room));
        for (int64_t i = 1; i < columns; ++i) std::fill(m + i * columns, m + i * columns + i, 0.0);
    }

    // Replaces the rows of B by those of U^T, sorted by their norms, and J accordingly.
    void orthogonalize(double *room, int exponent) const {
        const int64_t n = columns, pitch = width();
        double *b = lines(room), *j = vh(room), *norms = tau(room), *s = values(room);
        int64_t *order = this->order(room);
        double squares = 0;
        for (int64_t i = 0; i < n; ++i) squares += dot(b + i * pitch, b + i * pitch, pitch);
        const double least =
            std::numeric_limits<double>::epsilon() * std::sqrt(squares) * std::sqrt(double(n));
        int64_t known = 0;  // rows before this are done, except for rotations
        while (n - known > kSvdSmall) {
            double largest = 0;
            for (int64_t i = known; i < n; ++i) largest = std::max(largest, size_of(b + i * pitch));
            if (largest <= least) break;
            known += make_level(room, known, largest);
        }
        const int64_t some = n - known > kSvdSmall ? known : n;
        for (int i = 0; i < kSvdSweeps && sweep(b, j, some, least); ++i) {
        }
        for (int64_t i = 0; i < n; ++i) norms[i] = size_of(b + i * pitch), order[i] = i;
        std::stable_sort(order, order + n,
                         [=](int64_t p, int64_t q) { return norms[p] > norms[q]; });
        double *sorted = other(room), *turned = this->turned(room);
        int64_t kept = 0;
        for (int64_t i = 0; i < n; ++i) {
            const double norm = norms[order[i]];
            s[i] = std::ldexp(norm, exponent);
            kept += norm > least;
            for (int64_t k = 0; k < pitch; ++k)
                sorted[i * pitch + k] = b[order[i] * pitch + k] / norm;
            std::copy(j + order[i] * n, j + order[i] * n + n, turned + i * n);
        }
        std::copy(sorted, sorted + n * pitch, b);
        std::copy(turned, turned + n * n, j);
        complete(room, b, kept);
    }
};

}  // namespace infini::cpu
