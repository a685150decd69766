// lstsq: least squares by QR with exchanged columns, which ends where the rank is reached, as LAPACK's
// gelsy. One block per matrix.
#pragma once

#include "reflections.cuh"

#ifdef INFINI_DEVICE

namespace infini {

// The largest or smallest singular value of a growing upper triangle R, and the left singular
// vector x, by incremental condition estimation. One thread.
struct SingularValue {
    double *x, value, s, c;

    // The value for R with one more column, whose last element is gamma.
    INFINI_DEVICE double next(const double *column, int64_t step, double gamma, int64_t n,
                              bool largest) {
        s = 0, c = 1;
        if (n == 0) return fabs(gamma);
        double alpha = 0;
        INFINI_ROLLED
        for (int64_t i = 0; i < n; ++i) alpha += x[i] * column[i * step];
        const double scale = fmax(value, fmax(fabs(alpha), fabs(gamma)));
        if (scale == 0) return 0;
        const double f = value / scale, g = alpha / scale, h = gamma / scale, size = fabs(h);
        const double most = (hypot(f + size, g) + hypot(f - size, g)) / 2;
        const double angle = atan2(2 * g * h, (f - size) * (f + size) + g * g) / 2;
        s = largest ? cos(angle) : -sin(angle);
        c = largest ? sin(angle) : cos(angle);
        return scale * (largest ? most : f * size / most);
    }
    INFINI_DEVICE void extend(double to, int64_t n) {
        INFINI_ROLLED
        for (int64_t i = 0; i < n; ++i) x[i] *= s;
        x[n] = c, value = to;
    }
};

struct LeastSquares {
    double *a, *b, *norms, *vectors, *tau, *line, *found;  // row-major matrices
    int64_t *order;
    int64_t m, n, sides;
    double rcond;

    INFINI_DEVICE double &at(int64_t i, int64_t k) const { return a[i * n + k]; }

    // The longest column from k on, without its first k elements, becomes column k.
    INFINI_CALLED void exchange(int64_t k) const {
        INFINI_ROLLED
        for (int64_t j = k + thread(); j < n; j += kThreads) {
            double most = 0, sum = 0;
            INFINI_ROLLED
            for (int64_t i = k; i < m; ++i) most = fmax(most, fabs(at(i, j)));
            INFINI_ROLLED
            for (int64_t i = k; i < m && most > 0; ++i) sum += at(i, j) / most * (at(i, j) / most);
            norms[j] = most * sqrt(sum);
        }
        __syncthreads();
        int64_t longest = k;
        INFINI_ROLLED
        for (int64_t j = k + 1; j < n; ++j)
            if (norms[j] > norms[longest]) longest = j;
        INFINI_ROLLED
        for (int64_t i = thread(); i < m && longest != k; i += kThreads) {
            const double kept = at(i, k);
            at(i, k) = at(i, longest), at(i, longest) = kept;
        }
        if (thread() == 0) {
            const int64_t kept = order[k];
            order[k] = order[longest], order[longest] = kept;
        }
        __syncthreads();
    }

    // Returns the rank. Ends with a barrier.
    INFINI_CALLED int64_t factor() const {
        const int64_t count = m < n ? m : n;
        SingularValue most = {vectors, 0, 0, 1}, least = {vectors + count, 0, 0, 1};
        INFINI_ROLLED
        for (int64_t j = thread(); j < n; j += kThreads) order[j] = j;
        __syncthreads();
        int64_t k = 0;
        INFINI_ROLLED
        for (; k < count; ++k) {
            exchange(k);
            const double factor = make_reflection(&at(k, k), m - k, n);
            if (thread() == 0) {
                const double above = most.next(a + k, n, at(k, k), k, true);
                const double below = least.next(a + k, n, at(k, k), k, false);
                *found = above * rcond <= below && below != 0 ? 1 : 0;
                most.extend(above, k), least.extend(below, k);
            }
            __syncthreads();
            if (*found == 0) break;
            reflect(a + k * n + k + 1, n, m - k, n - k - 1, &at(k, k), n, factor);
            reflect(b + k * sides, sides, m - k, sides, &at(k, k), n, factor);
            __syncthreads();
        }
        __syncthreads();
        return k;
    }

    // Reflects the rows of R so that the elements from column `rank` on become 0. They are replaced
    // by the vectors of the reflections.
    INFINI_CALLED void clear_rows(int64_t rank) const {
        const int64_t width = n - rank;
        INFINI_ROLLED
        for (int64_t i = rank - 1; i >= 0; --i) {
            INFINI_ROLLED
            for (int64_t j = thread(); j <= width; j += kThreads)
                line[j] = j == 0 ? at(i, i) : at(i, rank + j - 1);
            const double factor = make_reflection(line, width + 1, 1);
            __syncthreads();
            INFINI_ROLLED
            for (int64_t j = thread(); j <= width; j += kThreads)
                (j == 0 ? at(i, i) : at(i, rank + j - 1)) = line[j];
            if (thread() == 0) tau[i] = factor;
            INFINI_ROLLED
            for (int64_t r = thread(); r < i; r += kThreads)
                reflect_line(&at(r, i), &at(r, 0) + rank, 1, line + 1, factor, width);
            __syncthreads();
        }
    }
    INFINI_DEVICE static void reflect_line(double *first, double *rest, int64_t step,
                                           const double *v, double factor, int64_t width) {
        double sum = *first;
        INFINI_ROLLED
        for (int64_t j = 0; j < width; ++j) sum += rest[j * step] * v[j];
        sum *= factor;
        *first -= sum;
        INFINI_ROLLED
        for (int64_t j = 0; j < width; ++j) rest[j * step] -= sum * v[j];
    }

    // Stores the solutions, n rows, in x, and before their rows are exchanged in y.
    INFINI_CALLED void substitute(double *x, double *y, int64_t rank) const {
        INFINI_ROLLED
        for (int64_t side = thread(); side < sides; side += kThreads) {
            double *column = y + side;
            INFINI_ROLLED
            for (int64_t i = n - 1; i >= 0; --i) {
                double sum = i < rank ? b[i * sides + side] : 0;
                for (int64_t j = i + 1; j < rank; ++j) sum -= at(i, j) * column[j * sides];
                column[i * sides] = i < rank ? sum / at(i, i) : 0;
            }
            INFINI_ROLLED
            for (int64_t i = 0; i < rank && rank < n; ++i)
                reflect_line(column + i * sides, column + rank * sides, sides, &at(i, 0) + rank,
                             tau[i], n - rank);
            INFINI_ROLLED
            for (int64_t i = 0; i < n; ++i) x[order[i] * sides + side] = column[i * sides];
        }
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const int64_t m = p.x.rows, n = p.x.columns, sides = p.b.columns, count = m < n ? m : n;
    double *a = block_room<kSharedRoom>(p), *b = a + m * n, *x = b + m * sides;
    double *y = x + n * sides, *norms = y + n * sides, *vectors = norms + n;
    double *tau = vectors + 2 * count, *line = tau + count, *found = line + n + 1;
    const LeastSquares problem = {a,   b,    norms, vectors,
                                  tau, line, found, reinterpret_cast<int64_t *>(found + 1),
                                  m,   n,    sides, p.least};
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_matrix(a, p.x, index);
        load_matrix(b, p.b, index);
        __syncthreads();
        double nothing = 0;
        INFINI_ROLLED
        for (int64_t i = thread(); i < m * n; i += kThreads) nothing += a[i] * 0;
        const bool is_finite = block_sum(nothing) == 0;
        int64_t rank = 0;
        if (is_finite) {
            rank = problem.factor();
            if (rank < n) problem.clear_rows(rank);
            problem.substitute(x, y, rank);
        } else {
            fill(x, n * sides, not_a_number<double>());
        }
        __syncthreads();
        store_matrix(p.y, index, x);
        if (thread() == 0) static_cast<int64_t *>(p.z.data)[p.z.batch(index)] = rank;
        __syncthreads();
    }
}

#endif  // INFINI_DEVICE
