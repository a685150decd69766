// eig: reduces a complex matrix to Hessenberg form by reflections, and this to triangular form by
// rotations (QR with shifts). Eigenvectors are computed from the triangle, if kVectors. One block per
// matrix.
#pragma once

#include "complex.cuh"

#ifdef INFINI_DEVICE

namespace infini {

inline constexpr int kTries = 200;  // per eigenvalue
inline constexpr double kUnit = 2.220446049250313e-16;

INFINI_CALLED Complex root(Complex z) {
    const double r = size(z), t = sqrt(0.5 * (r + fabs(z.re)));
    if (t == 0) return {0, 0};
    if (z.re >= 0) return {t, z.im / (2 * t)};
    return {fabs(z.im) / (2 * t), copysign(t, z.im)};
}

struct Schur {
    Complex *t, *z;  // n x n: z t z^H is the matrix
    int64_t n;

    INFINI_DEVICE Complex &at(int64_t i, int64_t k) const { return t[i * n + k]; }

    // Ends with a barrier.
    INFINI_DEVICE void make_hessenberg(Complex *v) const {
        set_complex_identity(z, n, n);
        __syncthreads();
        INFINI_ROLLED
        for (int64_t k = 0; k + 2 < n; ++k) {
            double below = 0;
            INFINI_ROLLED
            for (int64_t i = k + 2 + thread(); i < n; i += kThreads) below += squared(at(i, k));
            below = block_sum(below);
            const Complex first = at(k + 1, k);
            const bool is_done = below < 1e-60;  // the largest element of the matrix is 1
            if (!is_done) {
                const double head = size(first), length = sqrt(below + head * head);
                const Complex lead =
                    first + (head == 0 ? Complex{1, 0} : first * (1 / head)) * length;
                const double factor = 2 / (below + squared(lead));
                INFINI_ROLLED
                for (int64_t i = k + 1 + thread(); i < n; i += kThreads)
                    v[i] = i == k + 1 ? lead : at(i, k);
                __syncthreads();
                INFINI_ROLLED
                for (int64_t j = k + thread(); j < n; j += kThreads) {
                    Complex sum = {0, 0};
                    INFINI_ROLLED
                    for (int64_t i = k + 1; i < n; ++i) sum = sum + conj(v[i]) * at(i, j);
                    sum = sum * factor;
                    INFINI_ROLLED
                    for (int64_t i = k + 1; i < n; ++i) at(i, j) = at(i, j) - v[i] * sum;
                }
                __syncthreads();
                INFINI_ROLLED
                for (int64_t row = thread(); row < 2 * n; row += kThreads) {
                    Complex *m = row < n ? t + row * n : z + (row - n) * n, sum = {0, 0};
                    INFINI_ROLLED
                    for (int64_t j = k + 1; j < n; ++j) sum = sum + m[j] * v[j];
                    sum = sum * factor;
                    INFINI_ROLLED
                    for (int64_t j = k + 1; j < n; ++j) m[j] = m[j] - sum * conj(v[j]);
                }
            }
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = k + 2 + thread(); i < n; i += kThreads) at(i, k) = {0, 0};
            __syncthreads();
        }
    }

    // Wilkinson's shift: the eigenvalue of the last 2 x 2 block that is closer to its corner.
    INFINI_CALLED Complex shift_of(int64_t last) const {
        const Complex a = at(last - 1, last - 1), b = at(last - 1, last);
        const Complex c = at(last, last - 1), d = at(last, last);
        const Complex half = (a - d) * 0.5, bc = b * c;
        Complex square = root(half * half + bc);
        if (half.re * square.re + half.im * square.im < 0) square = square * -1.0;
        const Complex below = half + square;
        return size(below) == 0 ? d - square : d - divide(bc, below);
    }

    // Returns false if it does not converge. Every thread decides from the same values. Ends with a
    // barrier.
    INFINI_DEVICE bool make_triangular(double *cosines, Complex *sines) const {
        int64_t last = n - 1;
        int tries = 0;
        while (last > 0) {
            int64_t first = last;
            for (; first > 0; --first) {
                const double around = size(at(first, first)) + size(at(first - 1, first - 1));
                // The largest element is 1, so a value below kUnit is rounding error.
                if (size(at(first, first - 1)) <= kUnit * fmax(around, 1.0)) break;
            }
            const Complex shift =
                tries % 10 == 9 ? Complex{size(at(last, last - 1)), 0} : shift_of(last);
            __syncthreads();  // all threads have read
            if (first > 0 && thread() == 0) at(first, first - 1) = {0, 0};
            if (first == last) {
                --last, tries = 0;
                __syncthreads();
                continue;
            }
            if (++tries > kTries) return false;
            INFINI_ROLLED
            for (int64_t i = first + thread(); i <= last; i += kThreads)
                at(i, i) = at(i, i) - shift;
            __syncthreads();
            // t = Q R, then R Q, within the block; then the rest of the rows and columns.
            INFINI_ROLLED
            for (int64_t k = first; k < last; ++k) {
                const Complex x = at(k, k), y = at(k + 1, k);
                const double head = size(x), r = hypot(head, size(y));
                const double c = r == 0 ? 1 : head / r;
                const Complex turn = head == 0 ? Complex{1, 0} : x * (1 / head);
                const Complex s = r == 0 ? Complex{0, 0} : turn * conj(y) * (1 / r);
                __syncthreads();
                if (thread() == 0) cosines[k] = c, sines[k] = s;
                INFINI_ROLLED
                for (int64_t j = k + thread(); j < n; j += kThreads) {
                    const Complex a = at(k, j), b = at(k + 1, j);
                    at(k, j) = a * c + s * b;
                    at(k + 1, j) = b * c - conj(s) * a;
                }
                __syncthreads();
            }
            // Each row applies all rotations in sequence, because rows are independent.
            INFINI_ROLLED
            for (int64_t row = thread(); row < last + 1 + n; row += kThreads) {
                const bool is_t = row <= last;
                Complex *m = is_t ? t + row * n : z + (row - last - 1) * n;
                INFINI_ROLLED
                for (int64_t k = first; k < last; ++k) {
                    if (is_t && row > k + 1) continue;
                    const Complex a = m[k], b = m[k + 1];
                    m[k] = a * cosines[k] + conj(sines[k]) * b;
                    m[k + 1] = b * cosines[k] - sines[k] * a;
                }
            }
            __syncthreads();
            INFINI_ROLLED
            for (int64_t i = first + thread(); i <= last; i += kThreads)
                at(i, i) = at(i, i) + shift;
            __syncthreads();
        }
        return true;
    }

    // Stores eigenvector k of the triangle in v; called by one thread.
    INFINI_DEVICE void solve(Complex *v, int64_t k, double least) const {
        v[k] = {1, 0};
        INFINI_ROLLED
        for (int64_t i = k - 1; i >= 0; --i) {
            Complex sum = {0, 0};
            INFINI_ROLLED
            for (int64_t j = i + 1; j <= k; ++j) sum = sum + at(i, j) * v[j];
            Complex gap = at(k, k) - at(i, i);
            if (size(gap) < least) gap = {least, 0};
            v[i] = divide(sum, gap);
            const double large = size(v[i]);
            if (!(large > 1e100)) continue;
            INFINI_ROLLED
            for (int64_t j = i; j <= k; ++j) v[j] = v[j] * (1 / large);
        }
    }
};

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ComplexParams, kThreads, 1) {
    const int64_t n = p.x->rows;
    double *room = p.rooms + blockIdx.x * p.room;
    Complex *t = as_complex(room), *z = t + n * n, *v = z + n * n, *line = v + n * n;
    double *cosines = room + 6 * n * n + 2 * n;
    for (int64_t index = blockIdx.x; index < p.count; index += gridDim.x) {
        load_complex(t, p.x, index);
        __syncthreads();
        const double scale = scale_down(t, n * n);
        const Schur schur = {t, z, n};
        bool is_good = !isnan(scale);
        if (is_good) {
            schur.make_hessenberg(line);
            is_good = schur.make_triangular(cosines, line);
        }
        __syncthreads();
        double most = 0;
        INFINI_ROLLED
        for (int64_t i = thread(); i < n * n; i += kThreads) most = fmax(most, size(t[i]));
        most = block_most(most);
        if (kVectors && is_good) {
            INFINI_ROLLED
            for (int64_t k = thread(); k < n; k += kThreads)
                schur.solve(v + k * n, k, fmax(most, 1e-300) * kUnit);
        }
        __syncthreads();
        const Complex none = {not_a_number<double>(), not_a_number<double>()};
        store_complex(p.y, index,
                      [=](int64_t, int64_t k) { return is_good ? t[k * n + k] * scale : none; });
        __syncthreads();
        if constexpr (!kVectors) continue;
        // Row k of t is now z times row k of v.
        INFINI_ROLLED
        for (int64_t e = thread(); e < n * n && is_good; e += kThreads) {
            const int64_t k = e / n, i = e - k * n;
            Complex sum = {0, 0};
            INFINI_ROLLED
            for (int64_t j = 0; j <= k; ++j) sum = sum + z[i * n + j] * v[k * n + j];
            t[e] = sum;
        }
        __syncthreads();
        INFINI_ROLLED
        for (int64_t k = thread(); k < n; k += kThreads) {
            double length = 0;
            INFINI_ROLLED
            for (int64_t i = 0; i < n; ++i) length += squared(t[k * n + i]);
            cosines[k] = 1 / sqrt(length);
        }
        __syncthreads();
        store_complex(p.y + 2, index, [=](int64_t i, int64_t k) {
            return is_good ? t[k * n + i] * cosines[k] : none;
        });
        __syncthreads();
    }
}

#endif  // INFINI_DEVICE
