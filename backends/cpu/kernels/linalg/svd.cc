// svd: first x = Q R by reflections, then rotations between the rows of R until they are orthogonal
// to each other (Hestenes): J R = S V^T, so x = (Q J^T) S V^T. Every sweep takes the pairs of rows
// in rounds of disjoint ones, so that threads share a round and do not change the result.
#include <atomic>

#include "linalg/lapack.h"
#include "linalg/qr.h"

namespace infini::cpu {
namespace {

constexpr int kSweeps = 60;
// Rows of R, scaled to a largest element of about 1, that are shorter than this are completed
// instead: their products underflow, so rotations cannot make them orthogonal.
constexpr double kTiny = 1e-140;

struct Svd {
    int64_t rows, columns;  // not fewer rows than columns

    int64_t doubles() const {
        return 2 * rows * columns + 3 * columns * columns + rows + 4 * columns;
    }

    // Parts of the room.
    double *matrix(double *room) const { return room; }
    double *q(double *room) const { return room + rows * columns; }
    double *r(double *room) const { return q(room) + rows * columns; }
    double *j(double *room) const { return r(room) + columns * columns; }
    double *sorted(double *room) const { return j(room) + columns * columns; }
    double *values(double *room) const { return sorted(room) + columns * columns; }
    double *tau(double *room) const { return values(room) + columns; }
    double *line(double *room) const { return tau(room) + columns; }
    int64_t *order(double *room) const {
        return reinterpret_cast<int64_t *>(line(room) + rows + columns);
    }

    // Makes rows a and b of R orthogonal. False: they were.
    bool rotate_pair(double *r, double *j, int64_t a, int64_t b, double tolerance) const {
        double *x = r + a * columns, *y = r + b * columns;
        const double xx = dot(x, x, columns), yy = dot(y, y, columns), xy = dot(x, y, columns);
        if (!(std::abs(xy) > tolerance * std::sqrt(xx) * std::sqrt(yy))) return false;
        const double zeta = (yy - xx) / (2 * xy);
        const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
        const double c = 1 / std::sqrt(1 + t * t), s = c * t;
        rotate(x, y, c, s, columns);
        rotate(j + a * columns, j + b * columns, c, s, columns);
        return true;
    }

    // One sweep over all pairs. False: nothing was left to do.
    bool sweep(double *r, double *j, double tolerance) const {
        const int64_t players = columns + columns % 2, others = players - 1;
        const size_t grain = size_t(std::max<int64_t>(1, 4096 / std::max<int64_t>(1, columns)));
        std::atomic<bool> changed{false};
        for (int64_t round = 0; round < others; ++round)
            parallel_for(size_t(players / 2), grain, [&](size_t begin, size_t end) {
                for (int64_t i = int64_t(begin); i < int64_t(end); ++i) {
                    const int64_t a = i ? (round + i) % others : others;
                    const int64_t b = (round + others - i) % others;
                    if (a < columns && rotate_pair(r, j, std::min(a, b), std::max(a, b), tolerance))
                        changed.store(true, std::memory_order_relaxed);
                }
            });
        return changed.load();
    }

    // A row of length 1 that is orthogonal to the `known` ones before it.
    void complete(double *all, int64_t known) const {
        double *row = all + known * columns;
        for (int64_t unit = 0; unit < columns; ++unit) {
            std::fill(row, row + columns, 0.0);
            row[unit] = 1;
            for (int again = 0; again < 2; ++again)
                for (int64_t i = 0; i < known; ++i)
                    add_scaled(row, all + i * columns, -dot(row, all + i * columns, columns),
                               columns);
            const double norm = std::sqrt(dot(row, row, columns));
            if (!(norm * norm * double(2 * columns) >= 1)) continue;  // too near to the others
            for (int64_t i = 0; i < columns; ++i) row[i] /= norm;
            return;
        }
    }

    // values, sorted (the rows of V^T) and matrix (U), from what lies in matrix.
    void run(double *room) const {
        double *m = matrix(room), *r = this->r(room), *j = this->j(room);
        double *sorted = this->sorted(room), *s = values(room);
        int64_t *order = this->order(room);
        // The largest element becomes about 1, so that squares stay in range.
        double most = 0;
        for (int64_t i = 0; i < rows * columns; ++i)
            if (std::abs(m[i]) > most || std::isnan(m[i])) most = std::abs(m[i]);
        if (!std::isfinite(most)) {
            const double nan = std::numeric_limits<double>::quiet_NaN();
            std::fill(m, m + rows * columns, nan);
            std::fill(sorted, sorted + columns * columns, nan);
            std::fill(s, s + columns, nan);
            return;
        }
        int exponent = 0;
        std::frexp(most, &exponent);
        for (int64_t i = 0; i < rows * columns; ++i) m[i] = std::ldexp(m[i], -exponent);

        factor_qr(m, rows, columns, tau(room), line(room));
        make_q(q(room), rows, columns, m, columns, tau(room), line(room));
        std::fill(r, r + columns * columns, 0.0);
        for (int64_t i = 0; i < columns; ++i)
            std::copy(m + i * columns + i, m + (i + 1) * columns, r + i * columns + i);
        set_identity(j, columns, columns);
        const double tolerance =
            std::numeric_limits<double>::epsilon() * std::sqrt(double(std::max<int64_t>(rows, 1)));
        for (int i = 0; i < kSweeps && sweep(r, j, tolerance); ++i) {
        }

        double *norms = tau(room);
        for (int64_t i = 0; i < columns; ++i)
            norms[i] = length(r + i * columns, columns, 1), order[i] = i;
        std::stable_sort(order, order + columns,
                         [=](int64_t a, int64_t b) { return norms[a] > norms[b]; });
        for (int64_t i = 0; i < columns; ++i) {
            const double norm = norms[order[i]], *from = r + order[i] * columns;
            s[i] = std::ldexp(norm, exponent);
            if (norm > kTiny)
                for (int64_t k = 0; k < columns; ++k) sorted[i * columns + k] = from[k] / norm;
            else
                complete(sorted, i);
        }
        // U = Q J^T with its columns in order; J^T goes to r.
        for (int64_t i = 0; i < columns; ++i)
            for (int64_t k = 0; k < columns; ++k) r[k * columns + i] = j[order[i] * columns + k];
        std::fill(m, m + rows * columns, 0.0);
        add_product({m, columns}, {q(room), columns}, {r, columns}, rows, columns, columns, 1);
    }
};

std::unique_ptr<Plan> plan_svd(const Operation &operation) {
    const Matrices s(operation.tensor(1), 1);
    Matrices u(operation.tensor(0), 2), vh(operation.tensor(2), 2), x(operation.tensor(3), 2);
    // A wide matrix is transposed: then U and V change places.
    const bool wide = x.rows < x.columns;
    const int u_at = wide ? 2 : 0, vh_at = wide ? 0 : 2;
    if (wide) {
        std::swap(u, vh);
        x = x.transposed(), u = u.transposed(), vh = vh.transposed();
    }
    const int64_t lwork = (4 * x.columns + 7) * x.columns + kLapackBlock * (x.rows + x.columns);
    // By columns x is its transpose, V S U^T: V^T and U come out by rows.
    auto by_lapack = [=](const Lapack &lapack, const Arguments &a, int64_t i, double *room) {
        double *us = room + x.size(), *vhs = us + u.size(), *values = vhs + vh.size();
        double *work = values + x.columns;
        const int rows = int(x.rows), columns = int(x.columns), size = int(lwork);
        int *iwork = reinterpret_cast<int *>(work + lwork), info = 0;
        x.load(room, a.pointer<void>(3), i);
        if (!is_finite(room, x.size())) return false;
        lapack.dgesdd("S", &columns, &rows, room, &columns, values, vhs, &columns, us, &columns,
                      work, &size, iwork, &info, 1);
        if (info != 0) return false;
        u.store(a.pointer<void>(u_at), i, us);
        s.store(a.pointer<void>(1), i, values);
        vh.store(a.pointer<void>(vh_at), i, vhs);
        return true;
    };
    const Svd svd = {x.rows, x.columns};
    auto body = [=](const Arguments &a, int64_t i, double *room) {
        x.load(svd.matrix(room), a.pointer<void>(3), i);
        svd.run(room);
        u.store(a.pointer<void>(u_at), i, svd.matrix(room));
        s.store(a.pointer<void>(1), i, svd.values(room));
        vh.store(a.pointer<void>(vh_at), i, svd.sorted(room));
    };
    const int64_t work = (x.size() + 16 * x.columns * x.columns) * (x.columns + 8);
    return plan_with_lapack(x, kLapackSvd, 2 * x.size() + vh.size() + 9 * x.columns + lwork,
                            by_lapack, svd.doubles(), work, body);
}

INFINI_KERNEL("svd", plan_svd);

}  // namespace
}  // namespace infini::cpu
