// eigh: reduces a symmetric matrix to tridiagonal form by reflections, and this to diagonal form by
// rotations (the QL method with implicit shifts). The eigenvectors are the rows of Z, so that
// neighbouring threads access neighbouring columns. The reduction, the product of the reflections
// and the QL iterations are separate kernels (kStage), which compile in parallel.
#include "reflections.cuh"

namespace infini {

inline constexpr int kTries = 60;  // per eigenvalue

struct Eigh {
    int64_t n;
    double *m, *z, *d, *e, *tau, *line, *turns;  // off-diagonal e; cosines and sines

    INFINI_DEVICE Eigh(int64_t n, double *room) : n(n) {
        m = room, z = m + n * n, d = z + n * n, e = d + n, tau = e + n, line = tau + n;
        turns = line + n;
    }

    // m = H T H^T, where T is tridiagonal. The vectors of the reflections that form H remain in m.
    INFINI_CALLED void make_tridiagonal() const {
        double *v = turns, *w = line;
        INFINI_ROLLED
        for (int64_t k = 0; k + 1 < n; ++k) {
            const int64_t rest = n - k - 1, first = k + 1;
            double *corner = m + first * n + k, *block = m + first * n + first;
            const double t = make_reflection(corner, rest, n);
            if (thread() == 0) tau[k] = t, d[k] = m[k * n + k], e[k] = corner[0];
            if (t == 0) continue;
            INFINI_ROLLED
            for (int64_t i = thread(); i < rest; i += kThreads) v[i] = i ? corner[i * n] : 1.0;
            __syncthreads();
            // Subtracts v w^T + w v^T from the trailing matrix, where w = p - (t / 2) (p v) v and p
            // = t rest v. One warp per row.
            double along = 0;
            INFINI_ROLLED
            for (int64_t i = warp(); i < rest; i += kThreads / kWarp) {
                double sum = 0;
                for (int64_t j = lane(); j < rest; j += kWarp) sum += block[i * n + j] * v[j];
                sum = t * fold_warp(sum, fold::Sum());
                if (lane() == 0) w[i] = sum, along += sum * v[i];
            }
            along = block_sum(along);
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = thread(); i < rest; i += kThreads) w[i] -= t / 2 * along * v[i];
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = warp(); i < rest; i += kThreads / kWarp) {
                const double vi = v[i], wi = w[i];
                for (int64_t j = lane(); j < rest; j += kWarp)
                    block[i * n + j] -= vi * w[j] + wi * v[j];
            }
            __syncthreads();
        }
        if (thread() == 0) d[n - 1] = m[n * n - 1], e[n - 1] = 0;
        __syncthreads();
    }

    // Where the matrix splits, from k on.
    INFINI_DEVICE int64_t end_of_part(int64_t k) const {
        while (k + 1 < n && !(fabs(e[k]) <= 0x1p-52 * (fabs(d[k]) + fabs(d[k + 1])))) ++k;
        return k;
    }

    // One QL step for the block [k, last], by one thread: computes the rotations between neighbours
    // [result, last).
    INFINI_CALLED int64_t step(int64_t k, int64_t last) const {
        double g = (d[k + 1] - d[k]) / (2 * e[k]);
        g = d[last] - d[k] + e[k] / (g + copysign(hypot(g, 1.0), g));
        double s = 1, c = 1, p = 0;
        int64_t i = last - 1;
        INFINI_ROLLED
        for (; i >= k; --i) {
            const double f = s * e[i], b = c * e[i], r = hypot(f, g);
            e[i + 1] = r;
            if (r == 0) {  // the matrix splits here
                d[i + 1] -= p, e[last] = 0;
                return i + 1;
            }
            s = f / r, c = g / r;
            g = d[i + 1] - p;
            const double next = (d[i] - g) * s + 2 * c * b;
            p = s * next;
            d[i + 1] = g + p;
            g = c * next - b;
            turns[2 * i] = c, turns[2 * i + 1] = s;
        }
        d[k] -= p, e[k] = g, e[last] = 0;
        return k;
    }

    // Applies rotations between the neighbours [first, last), from the last one on, to the rows of
    // Z.
    INFINI_CALLED void turn_rows(int64_t first, int64_t last) const {
        INFINI_ROLLED
        for (int64_t j = thread(); j < n; j += kThreads) {
            double below = z[last * n + j];
#pragma unroll 4
            for (int64_t i = last - 1; i >= first; --i) {
                const double c = turns[2 * i], s = turns[2 * i + 1], x = z[i * n + j];
                z[(i + 1) * n + j] = s * x + c * below;
                below = c * x - s * below;
            }
            z[first * n + j] = below;
        }
    }

    // Returns false if it does not converge, for example with NaN.
    INFINI_CALLED bool make_diagonal() const {
        INFINI_SHARED int64_t part[2];
        INFINI_ROLLED
        for (int64_t k = 0; k < n; ++k)
            for (int tries = 0;; ++tries) {
                if (thread() == 0) {
                    const int64_t last = end_of_part(k);
                    part[0] = last, part[1] = last;
                    if (last != k && tries < kTries) part[1] = step(k, last);
                }
                __syncthreads();
                const int64_t last = part[0], first = part[1];
                if (last != k && tries < kTries) turn_rows(first, last);
                __syncthreads();
                if (last == k) break;
                if (tries == kTries) return false;
            }
        return true;
    }

    INFINI_DEVICE void make_symmetric() const {
        // Only the lower triangle is read.
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads)
            if (i / n < i % n) m[i] = m[i % n * n + i / n];
    }

    INFINI_DEVICE void make_rotation() const {
        make_q(z, n, n, m, n, tau, 1);
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads) {
            const int64_t row = i / n, column = i - row * n;
            if (column >= row) continue;
            const double held = z[i];
            z[i] = z[column * n + row], z[column * n + row] = held;
        }
    }

    // Stores the eigenvalues in `line`, ascending, and their vectors in the rows of m.
    INFINI_DEVICE void finish() const {
        if (!make_diagonal()) {
            fill(line, n, not_a_number<double>());
            fill(m, n * n, not_a_number<double>());
            return;
        }
        int64_t *order = reinterpret_cast<int64_t *>(turns);
        INFINI_ROLLED
        for (int64_t i = thread(); i < n; i += kThreads) {
            int64_t place = 0;
            INFINI_ROLLED
            for (int64_t k = 0; k < n; ++k) place += d[k] < d[i] || (d[k] == d[i] && k < i);
            order[place] = i, line[place] = d[i];
        }
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads) m[i] = z[order[i / n] * n + i % n];
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(LinalgParams, kThreads, 1) {
    const Eigh eigh(p.x.rows, p.rooms + blockIdx.x * p.room);
    const int64_t index = p.first + blockIdx.x;
    if constexpr (kStage == 0) {
        load_matrix(eigh.m, p.x, index);
        __syncthreads();
        eigh.make_symmetric();
        eigh.make_tridiagonal();
    } else if constexpr (kStage == 1) {
        eigh.make_rotation();
    } else {
        eigh.finish();
        __syncthreads();
        store_matrix(p.y, index, eigh.line);
        if (p.z.data) store_matrix(p.z, index, eigh.m);
    }
}
