// complex_svd and complex_eigh: rotations of pairs of columns, or of rows and columns (Jacobi's
// method), in rounds of disjoint pairs that the warps of a block share.
#pragma once

#include "complex.cuh"

#ifdef INFINI_DEVICE

namespace infini {

inline constexpr int kSweeps = 60;

// Indices of values in sorted order.
INFINI_CALLED void sort_values(int64_t *order, const double *values, int64_t n, bool descending) {
    INFINI_ROLLED
    for (int64_t i = thread(); i < n; i += kThreads) {
        int64_t place = 0;
        INFINI_ROLLED
        for (int64_t k = 0; k < n; ++k) {
            const bool before = descending ? values[k] > values[i] : values[k] < values[i];
            place += before || (values[k] == values[i] && k < i);
        }
        order[place] = i;
    }
}

}  // namespace infini

using namespace infini;

#ifdef INFINI_KERNEL_COMPLEX_JACOBI_SVD
// Replaces row `at` of length m by a unit row orthogonal to the rows before it.
INFINI_CALLED void make_up(Complex *rows, int64_t at, int64_t m) {
    Complex *row = rows + at * m;
    INFINI_ROLLED
    for (int64_t axis = 0; axis < m; ++axis) {
        INFINI_ROLLED
        for (int64_t k = thread(); k < m; k += kThreads) row[k] = {k == axis ? 1.0 : 0.0, 0};
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = 0; i < 2 * at; ++i) {  // twice, for accuracy
            const Complex *other = rows + i % at * m;
            Complex sum = {0, 0};
            INFINI_ROLLED
            for (int64_t k = thread(); k < m; k += kThreads) sum = sum + conj(other[k]) * row[k];
            sum.re = block_sum(sum.re), sum.im = block_sum(sum.im);
            INFINI_ROLLED
            for (int64_t k = thread(); k < m; k += kThreads) row[k] = row[k] - other[k] * sum;
            __syncthreads();
        }
        double length = 0;
        INFINI_ROLLED
        for (int64_t k = thread(); k < m; k += kThreads) length += squared(row[k]);
        length = block_sum(length);
        if (length * double(m) < 0.5) continue;
        __syncthreads();
        INFINI_ROLLED
        for (int64_t k = thread(); k < m; k += kThreads) row[k] = row[k] * (1 / sqrt(length));
        return;
    }
}

// For a wide matrix the conjugate transpose is factored.
INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t rows = p.x->rows, columns = p.x->columns;
    const bool wide = rows < columns;
    const int64_t n = wide ? rows : columns, m = wide ? columns : rows;
    double *room = p.rooms + blockIdx.x * p.room;
    Complex *given = as_complex(room), *x = given + m * n, *v = x + m * n;
    double *values = room + 4 * m * n + 2 * n * n;
    int64_t *order = reinterpret_cast<int64_t *>(values + n);
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(given, p.x, index);
        __syncthreads();
        const double scale = scale_down(given, m * n);
        INFINI_ROLLED
        for (int64_t i = thread(); i < m * n; i += kThreads) {  // columns as rows
            const int64_t row = i / m, k = i - row * m;
            x[i] = wide ? conj(given[row * columns + k]) : given[k * columns + row];
        }
        set_complex_identity(v, n, n);
        __syncthreads();
        double whole = 0;
        INFINI_ROLLED
        for (int64_t i = thread(); i < m * n; i += kThreads) whole += squared(x[i]);
        whole = block_sum(whole);
        int changed = isnan(scale) ? 0 : 1;
        auto rotate = [&](int64_t one, int64_t two, int64_t) {
            Complex *y = x + one * m, *z = x + two * m, off = {0, 0};
            double a = 0, b = 0;
            for (int64_t k = lane(); k < m; k += kWarp) {
                a += squared(y[k]), b += squared(z[k]);
                off = off + conj(y[k]) * z[k];
            }
#pragma unroll
            for (int mask = kWarp / 2; mask > 0; mask /= 2) {
                a += shuffle_xor(a, mask), b += shuffle_xor(b, mask);
                off.re += shuffle_xor(off.re, mask), off.im += shuffle_xor(off.im, mask);
            }
            const double g = size(off);
            // The rest of a column that depends linearly on others has no direction.
            const bool is_rest = fmin(a, b) <= 1e-32 * whole;
            if (g == 0 || is_rest || !(g > 1e-15 * sqrt(a * b))) return;
            changed = 1;
            const Complex phase = conj(off * (1 / g));
            const double zeta = (b - a) / (2 * g);
            const double t = copysign(1.0, zeta) / (fabs(zeta) + hypot(1.0, zeta));
            const double c = 1 / hypot(1.0, t), s = c * t;
            auto turn = [=](Complex *left, Complex *right, int64_t count) {
                for (int64_t k = lane(); k < count; k += kWarp) {
                    const Complex u = left[k], w = right[k] * phase;
                    left[k] = u * c - w * s, right[k] = u * s + w * c;
                }
            };
            turn(y, z, m);
            turn(v + one * n, v + two * n, n);
        };
        INFINI_ROLLED
        for (int sweep = 0; sweep < kSweeps && changed; ++sweep) {
            changed = 0;
            over_pairs(n, rotate, [](int64_t) {});
            changed = block_most(double(changed)) > 0;
        }
        const bool failed = changed || isnan(scale);
        INFINI_ROLLED
        for (int64_t i = thread(); i < n; i += kThreads) {
            double sum = 0;
            INFINI_ROLLED
            for (int64_t k = 0; k < m; ++k) sum += squared(x[i * m + k]);
            values[i] = sqrt(sum);
        }
        __syncthreads();
        sort_values(order, values, n, true);
        __syncthreads();
        Complex *left = given;
        const double least = n ? values[order[0]] * 1e-15 : 0;
        INFINI_ROLLED
        for (int64_t i = 0; i < n && !failed; ++i) {
            const double value = values[order[i]];
            if (value <= least) {
                make_up(left, i, m);
            } else {
                INFINI_ROLLED
                for (int64_t k = thread(); k < m; k += kThreads)
                    left[i * m + k] = x[order[i] * m + k] * (1 / value);
            }
            __syncthreads();
        }
        const Complex none = {not_a_number<double>(), not_a_number<double>()};
        // x = sum of left[i]^T values[i] conj(v row i); for a wide matrix the two are exchanged
        store_complex(p.y, index, [=](int64_t i, int64_t k) {
            return failed ? none : wide ? v[order[k] * n + i] : left[k * m + i];
        });
        store_complex(p.y + 3, index, [=](int64_t i, int64_t k) {
            return failed ? none : conj(wide ? left[i * m + k] : v[order[i] * n + k]);
        });
        T *s = static_cast<T *>(p.y[2].data) + p.y[2].batch(index);
        INFINI_ROLLED
        for (int64_t i = thread(); i < n; i += kThreads)
            s[i * p.y[2].column_step] =
                convert<T>(failed ? not_a_number<double>() : values[order[i]] * scale);
        __syncthreads();
    }
}
#endif

#ifdef INFINI_KERNEL_COMPLEX_JACOBI_EIGH
// The rotation of a pair of rows and columns.
struct Rotation {
    int64_t one, two;  // two < 0: no rotation
    double c, s;
    Complex phase;
};

INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t n = p.x->rows;
    double *room = p.rooms + blockIdx.x * p.room;
    Complex *m = as_complex(room), *v = m + n * n;
    double *values = room + 4 * n * n;
    int64_t *order = reinterpret_cast<int64_t *>(values + n);
    Rotation *rotations = reinterpret_cast<Rotation *>(order + n);
    const int64_t pairs = (n + 1) / 2;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(v, p.x, index);
        __syncthreads();
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads) {  // only the lower triangle is read
            const int64_t row = i / n, k = i - row * n;
            const Complex z = row < k ? conj(v[k * n + row]) : v[i];
            m[i] = {z.re, row == k ? 0.0 : z.im};
        }
        __syncthreads();
        set_complex_identity(v, n, n);
        const double scale = scale_down(m, n * n);
        double whole = 0;
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads) whole += squared(m[i]);
        whole = block_sum(whole);
        bool is_done = isnan(scale);
        auto find = [=](int64_t one, int64_t two, int64_t pair) {
            if (lane() != 0) return;
            const Complex off = m[one * n + two];
            const double b = size(off);
            if (b == 0) return;
            const double tau = (m[two * n + two].re - m[one * n + one].re) / (2 * b);
            const double t = copysign(1.0, tau) / (fabs(tau) + hypot(1.0, tau));
            const double c = 1 / hypot(1.0, t);
            rotations[pair] = {one, two, c, t * c, off * (1 / b)};
        };
        // rows: one = c one - s phase two, two = s conj(phase) one + c two; columns likewise
        auto turn = [=](Complex &one, Complex &two, const Rotation &r, Complex by) {
            const Complex x = one, y = two;
            one = x * r.c - by * y * r.s;
            two = conj(by) * x * r.s + y * r.c;
        };
        auto apply = [=](int64_t) {
            INFINI_ROLLED
            for (int64_t i = thread(); i < pairs * n; i += kThreads) {
                const Rotation &r = rotations[i / n];
                if (r.two < 0) continue;
                const int64_t k = i % n;
                turn(m[r.one * n + k], m[r.two * n + k], r, r.phase);
                turn(v[r.one * n + k], v[r.two * n + k], r, r.phase);
            }
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = thread(); i < pairs * n; i += kThreads) {
                const Rotation &r = rotations[i / n];
                if (r.two < 0) continue;
                const int64_t k = i % n;
                turn(m[k * n + r.one], m[k * n + r.two], r, conj(r.phase));
            }
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = thread(); i < pairs; i += kThreads) {
                Rotation &r = rotations[i];
                if (r.two >= 0) m[r.one * n + r.two] = m[r.two * n + r.one] = {0, 0};
                r.two = -1;
            }
        };
        INFINI_ROLLED
        for (int64_t i = thread(); i < pairs; i += kThreads) rotations[i].two = -1;
        __syncthreads();
        INFINI_ROLLED
        for (int sweep = 0; sweep < kSweeps && !is_done; ++sweep) {
            over_pairs(n, find, apply);
            double rest = 0;
            INFINI_ROLLED
            for (int64_t i = thread(); i < n * n; i += kThreads)
                if (i / n != i % n) rest += squared(m[i]);
            is_done = block_sum(rest) <= 1e-33 * whole;
        }
        const bool failed = !is_done || isnan(scale);
        INFINI_ROLLED
        for (int64_t i = thread(); i < n; i += kThreads) values[i] = m[i * n + i].re;
        __syncthreads();
        sort_values(order, values, n, false);
        __syncthreads();
        T *w = static_cast<T *>(p.y[0].data) + p.y[0].batch(index);
        INFINI_ROLLED
        for (int64_t i = thread(); i < n; i += kThreads)
            w[i * p.y[0].column_step] =
                convert<T>(failed ? not_a_number<double>() : values[order[i]] * scale);
        const Complex none = {not_a_number<double>(), not_a_number<double>()};
        store_complex(p.y + 1, index, [=](int64_t i, int64_t k) {
            return failed ? none : conj(v[order[k] * n + i]);
        });
        __syncthreads();
    }
}
#endif

#endif  // INFINI_DEVICE
