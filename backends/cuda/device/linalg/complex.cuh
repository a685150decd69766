// Batches of complex matrices, given as tensors of real and imaginary parts: parameters and shared
// functions of their kernels.
#pragma once

#include "dense.cuh"

namespace infini {

struct ComplexParams {
    MatrixParams x[2];    // real and imaginary parts
    MatrixParams b[2];    // right-hand sides
    MatrixParams y[5];    // results, in the order of the operator
    double *rooms;        // workspace: `room` doubles per block
    int64_t count, room;  // number of matrices
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// A block processes a row-major matrix of pairs of doubles. Functions are called by all threads;
// the caller provides a barrier before and after them unless stated otherwise.
namespace infini {

struct Complex {
    double re, im;

    INFINI_DEVICE Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
    INFINI_DEVICE Complex operator-(Complex o) const { return {re - o.re, im - o.im}; }
    INFINI_DEVICE Complex operator*(Complex o) const {
        return {re * o.re - im * o.im, re * o.im + im * o.re};
    }
    INFINI_DEVICE Complex operator*(double x) const { return {re * x, im * x}; }
};
INFINI_DEVICE Complex conj(Complex z) { return {z.re, -z.im}; }
INFINI_DEVICE double size(Complex z) { return hypot(z.re, z.im); }
INFINI_DEVICE double squared(Complex z) { return z.re * z.re + z.im * z.im; }
INFINI_CALLED Complex divide(Complex z, Complex by) {  // Smith's method
    if (fabs(by.im) <= fabs(by.re)) {
        const double r = by.im / by.re, scale = by.re + by.im * r;
        return {(z.re + z.im * r) / scale, (z.im - z.re * r) / scale};
    }
    const double r = by.re / by.im, scale = by.re * r + by.im;
    return {(z.re * r + z.im) / scale, (z.im * r - z.re) / scale};
}

INFINI_DEVICE Complex *as_complex(double *room) { return reinterpret_cast<Complex *>(room); }

INFINI_CALLED void load_complex(Complex *to, const MatrixParams *m, int64_t index) {
    const T *re = static_cast<const T *>(m[0].data) + m[0].batch(index);
    const T *im = static_cast<const T *>(m[1].data) + m[1].batch(index);
    INFINI_ROLLED
    for (int64_t i = thread(); i < m->rows * m->columns; i += kThreads) {
        const int64_t row = i / m->columns, column = i - row * m->columns;
        to[i] = {convert<double>(re[row * m[0].row_step + column * m[0].column_step]),
                 convert<double>(im[row * m[1].row_step + column * m[1].column_step])};
    }
}

// Stores from(i, k) in element (i, k) of the result.
template <class From>
INFINI_DEVICE void store_complex(const MatrixParams *m, int64_t index, const From &from) {
    T *re = static_cast<T *>(m[0].data) + m[0].batch(index);
    T *im = static_cast<T *>(m[1].data) + m[1].batch(index);
    INFINI_ROLLED
    for (int64_t i = thread(); i < m->rows * m->columns; i += kThreads) {
        const int64_t row = i / m->columns, column = i - row * m->columns;
        const Complex z = from(row, column);
        re[row * m[0].row_step + column * m[0].column_step] = convert<T>(z.re);
        im[row * m[1].row_step + column * m[1].column_step] = convert<T>(z.im);
    }
}

INFINI_CALLED void set_complex_identity(Complex *m, int64_t rows, int64_t columns) {
    INFINI_ROLLED
    for (int64_t i = thread(); i < rows * columns; i += kThreads)
        m[i] = {i / columns == i % columns ? 1.0 : 0.0, 0};
}

// Divides by a power of 2 so that no square overflows or underflows, and returns it; NaN if an
// element is not finite. Ends with a barrier.
INFINI_CALLED double scale_down(Complex *z, int64_t count) {
    double largest = 0;
    INFINI_ROLLED
    for (int64_t i = thread(); i < count; i += kThreads) {
        const double both = fabs(z[i].re) + fabs(z[i].im);
        largest = !(both < infinity<double>()) ? infinity<double>() : fmax(largest, both);
    }
    largest = block_most(largest);
    if (!(largest < infinity<double>())) return not_a_number<double>();
    if (largest == 0) return 1;
    const double scale = ldexp(1.0, ilogb(largest));
    INFINI_ROLLED
    for (int64_t i = thread(); i < count; i += kThreads) z[i] = z[i] * (1 / scale);
    __syncthreads();
    return scale;
}

// Calls work(a, b) for all pairs of n items, in rounds of disjoint pairs with one warp per pair.
// `between` is called after each round, between two barriers.
template <class Work, class Between>
INFINI_DEVICE void over_pairs(int64_t n, const Work &work, const Between &between) {
    const int64_t players = n + n % 2, others = players - 1;
    INFINI_ROLLED
    for (int64_t round = 0; round < others; ++round) {
        INFINI_ROLLED
        for (int64_t i = warp(); i < players / 2; i += kThreads / kWarp) {
            // Round-robin tournament: one item is fixed, the others rotate.
            const int64_t one = i == 0 ? others : (round + i) % others;
            const int64_t two = (round + others - i) % others;
            const int64_t a = one < two ? one : two, b = one < two ? two : one;
            if (b < n) work(a, b, i);
        }
        __syncthreads();
        between(round);
        __syncthreads();
    }
}

}  // namespace infini

#endif  // INFINI_DEVICE
