// svd: first x = Q R by reflections, then rotations between the rows of R until they are mutually
// orthogonal (Hestenes): J R = S V^T, so x = (Q J^T) S V^T. Every sweep processes all pairs of rows
// in rounds of disjoint pairs that the warps share. Factorization, rotations, sorting and U are
// separate kernels (kStage), which compile in parallel.
#include "reflections.cuh"

namespace infini {

inline constexpr int kSweeps = 60;
// Rows of R (scaled to a largest element of about 1) that are shorter than this are replaced by
// completing the basis: their products underflow, so rotations cannot make them orthogonal.
inline constexpr double kTiny = 1e-140;

struct Svd {
    int64_t rows, columns;  // rows >= columns
    double *m, *q, *r, *j, *sorted, *values, *tau;
    int64_t *order;
    double *exponent;  // of the largest element; NaN: no result

    INFINI_DEVICE Svd(const LinalgParams &p, double *room) : rows(p.x.rows), columns(p.x.columns) {
        m = room, q = m + rows * columns, r = q + rows * columns, j = r + columns * columns;
        sorted = j + columns * columns, values = sorted + columns * columns;
        tau = values + columns, order = reinterpret_cast<int64_t *>(tau + columns);
        exponent = tau + 2 * columns;
    }

    // Makes rows a and b of R orthogonal. Returns false if they already were. Called by one warp.
    INFINI_DEVICE bool rotate_pair(int64_t a, int64_t b, double tolerance) const {
        double *x = r + a * columns, *y = r + b * columns;
        double xx = 0, yy = 0, xy = 0;
        for (int64_t i = lane(); i < columns; i += kWarp) {
            const double u = x[i], v = y[i];
            xx += u * u, yy += v * v, xy += u * v;
        }
#pragma unroll
        for (int mask = kWarp / 2; mask > 0; mask /= 2) {
            xx += shuffle_xor(xx, mask), yy += shuffle_xor(yy, mask);
            xy += shuffle_xor(xy, mask);
        }
        if (!(fabs(xy) > tolerance * sqrt(xx) * sqrt(yy))) return false;
        const double zeta = (yy - xx) / (2 * xy);
        const double t = copysign(1 / (fabs(zeta) + hypot(1.0, zeta)), zeta);
        const double c = 1 / sqrt(1 + t * t), s = c * t;
        double *ja = j + a * columns, *jb = j + b * columns;
        for (int64_t i = lane(); i < columns; i += kWarp) {
            const double u = x[i], v = y[i], f = ja[i], g = jb[i];
            x[i] = c * u - s * v, y[i] = s * u + c * v;
            ja[i] = c * f - s * g, jb[i] = s * f + c * g;
        }
        return true;
    }

    // One sweep over all pairs. Returns false if all were orthogonal.
    INFINI_DEVICE bool sweep(double tolerance) const {
        const int64_t players = columns + columns % 2, others = players - 1;
        int changed = 0;
        INFINI_ROLLED
        for (int64_t round = 0; round < others; ++round) {
            INFINI_ROLLED
            for (int64_t i = warp(); i < players / 2; i += kThreads / kWarp) {
                // Positions on a circle of `others`, at equal distance in both directions.
                const int64_t on = round + i, back = round - i;
                const int64_t a = i == 0 ? others : on < others ? on : on - others;
                const int64_t b = back < 0 ? back + others : back;
                if (a < columns && rotate_pair(a < b ? a : b, a < b ? b : a, tolerance))
                    changed = 1;
                sync_warp();
            }
            __syncthreads();
        }
        return __syncthreads_or(changed);
    }

    // Computes a unit row orthogonal to the `known` rows before it.
    INFINI_CALLED void complete(int64_t known) const {
        double *row = sorted + known * columns;
        INFINI_ROLLED
        for (int64_t unit = 0; unit < columns; ++unit) {
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = thread(); i < columns; i += kThreads) row[i] = i == unit ? 1.0 : 0.0;
            INFINI_ROLLED
            for (int64_t i = 0; i < 2 * known; ++i) {
                const double *other = sorted + i % known * columns;
                double dot = 0;
                INFINI_ROLLED
                for (int64_t k = thread(); k < columns; k += kThreads) dot += row[k] * other[k];
                dot = block_sum(dot);
                INFINI_ROLLED
                for (int64_t k = thread(); k < columns; k += kThreads) row[k] -= dot * other[k];
            }
            double square = 0;
            INFINI_ROLLED
            for (int64_t k = thread(); k < columns; k += kThreads) square += row[k] * row[k];
            square = block_sum(square);
            if (!(square * double(2 * columns) >= 1)) continue;  // close to the span of the others
            const double norm = sqrt(square);
            INFINI_ROLLED
            for (int64_t k = thread(); k < columns; k += kThreads) row[k] /= norm;
            return;
        }
    }

    // Factors the contents of m.
    INFINI_DEVICE void factor() const {
        // Scales the largest element to about 1, so that squares do not overflow.
        double most = 0;
        INFINI_ROLLED
        for (int64_t i = thread(); i < rows * columns; i += kThreads)
            most = MostFold()(most, fabs(m[i]));
        most = block_most(most);
        const bool possible = most < infinity<double>();
        int power = 0;
        frexp(possible ? most : 0.0, &power);
        if (thread() == 0) *exponent = possible ? double(power) : not_a_number<double>();
        if (!possible) return;
        INFINI_ROLLED
        for (int64_t i = thread(); i < rows * columns; i += kThreads) m[i] = ldexp(m[i], -power);
        factor_qr(m, rows, columns, tau);
        make_q(q, rows, columns, m, columns, tau);
        INFINI_ROLLED
        for (int64_t i = thread(); i < columns * columns; i += kThreads)
            r[i] = i / columns <= i % columns ? m[i] : 0.0;
        set_identity(j, columns, columns);
    }

    INFINI_DEVICE void rotate() const {
        if (*exponent != *exponent) return;
        const double tolerance = 0x1p-52 * sqrt(double(rows > 1 ? rows : 1));
        INFINI_ROLLED
        for (int i = 0; i < kSweeps && sweep(tolerance); ++i) {
        }
    }

    // Replaces m by U.
    INFINI_DEVICE void finish() const {
        if (*exponent != *exponent) {
            fill(m, rows * columns, not_a_number<double>());
            fill(sorted, columns * columns, not_a_number<double>());
            fill(values, columns, not_a_number<double>());
            return;
        }
        // U = Q J^T with its columns in order; J^T is stored in r.
        INFINI_ROLLED
        for (int64_t i = thread(); i < columns * columns; i += kThreads) {
            const int64_t k = i / columns, row = i - k * columns;
            r[i] = j[order[row] * columns + k];
        }
        fill(m, rows * columns, 0.0);
        __syncthreads();
        add_product({m, columns, 1}, {q, columns, 1}, {r, columns, 1}, rows, columns, columns, 1);
    }

    // Sorts the rows of R by length, greatest first: the lengths are the singular values, and the
    // sorted rows become V^T.
    INFINI_DEVICE void sort_rows() const {
        if (*exponent != *exponent) return;
        double *norms = tau;
        INFINI_ROLLED
        for (int64_t i = 0; i < columns; ++i) {
            const double norm = length(r + i * columns, columns, 1);
            if (thread() == 0) norms[i] = norm;
        }
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = thread(); i < columns; i += kThreads) {
            int64_t place = 0;
            INFINI_ROLLED
            for (int64_t k = 0; k < columns; ++k)
                place += norms[k] > norms[i] || (norms[k] == norms[i] && k < i);
            order[place] = i;
        }
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = 0; i < columns; ++i) {
            const double norm = norms[order[i]], *from = r + order[i] * columns;
            if (thread() == 0) values[i] = ldexp(norm, int(*exponent));
            if (norm > kTiny) INFINI_ROLLED
            for (int64_t k = thread(); k < columns; k += kThreads)
                sorted[i * columns + k] = from[k] / norm;
            else complete(i);
        }
    }
};

}  // namespace infini

using namespace infini;

// For a matrix with fewer rows than columns, the planner passes the transpose and exchanges U and
// V: y is then the transpose of V^T, and w is U.
INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const Svd svd(p, p.rooms + blockIdx.x * p.room);
    const int64_t index = p.first + blockIdx.x;
    if constexpr (kStage == 0) {
        load_matrix(svd.m, p.x, index);
        __syncthreads();
        svd.factor();
    } else if constexpr (kStage == 1) {
        svd.rotate();
    } else if constexpr (kStage == 2) {
        svd.sort_rows();
    } else {
        svd.finish();
        __syncthreads();
        if (p.y.data) store_matrix(p.y, index, svd.m);
        store_matrix(p.z, index, svd.values);
        if (p.w.data) store_matrix(p.w, index, svd.sorted);
    }
}
