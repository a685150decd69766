// Complex matrices, given as two tensors (real and imaginary): dense rows of pairs of doubles.
#pragma once

#include <limits>

#include "linalg/lapack.h"

namespace infini::cpu {

// std::complex checks every product for infinities.
struct Complex {
    double re = 0, im = 0;

    Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
    Complex operator-(Complex o) const { return {re - o.re, im - o.im}; }
    Complex operator-() const { return {-re, -im}; }
    Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    Complex operator*(double x) const { return {re * x, im * x}; }
    Complex operator/(Complex o) const {  // Smith's method
        if (std::abs(o.im) <= std::abs(o.re)) {
            const double r = o.im / o.re, scale = o.re + o.im * r;
            return {(re + im * r) / scale, (im - re * r) / scale};
        }
        const double r = o.re / o.im, scale = o.re * r + o.im;
        return {(re * r + im) / scale, (im * r - re) / scale};
    }
    Complex &operator+=(Complex o) { return *this = *this + o; }
    Complex &operator-=(Complex o) { return *this = *this - o; }
};
inline Complex conj(Complex z) { return {z.re, -z.im}; }
inline double size(Complex z) { return std::hypot(z.re, z.im); }
inline double squared(Complex z) { return z.re * z.re + z.im * z.im; }
inline Complex root(Complex z) {
    const double r = size(z), t = std::sqrt(0.5 * (r + std::abs(z.re)));
    if (t == 0) return {};
    if (z.re >= 0) return {t, z.im / (2 * t)};
    return {std::abs(z.im) / (2 * t), std::copysign(t, z.im)};
}

// A batch of complex matrices; `room` must hold the pairs plus one matrix of doubles.
struct ComplexMatrices {
    Matrices re, im;

    ComplexMatrices(const Operation &operation, int place, int trailing)
        : re(operation.tensor(place), trailing), im(operation.tensor(place + 1), trailing) {}
    ComplexMatrices(const Matrices &re, const Matrices &im) : re(re), im(im) {}
    ComplexMatrices transposed() const { return {re.transposed(), im.transposed()}; }
    int64_t rows() const { return re.rows; }
    int64_t columns() const { return re.columns; }
    int64_t size() const { return re.size(); }
    int64_t count() const { return re.count(); }

    void load(Complex *to, const Arguments &a, int place, int64_t index, double *room) const {
        for (int part = 0; part < 2; ++part) {
            (part ? im : re).load(room, a.pointer<void>(place + part), index);
            double *at = &to[0].re + part;
            for (int64_t i = 0; i < size(); ++i) at[2 * i] = room[i];
        }
    }
    void store(const Arguments &a, int place, int64_t index, const Complex *from,
               double *room) const {
        for (int part = 0; part < 2; ++part) {
            const double *at = &from[0].re + part;
            for (int64_t i = 0; i < size(); ++i) room[i] = at[2 * i];
            (part ? im : re).store(a.pointer<void>(place + part), index, room);
        }
    }
};

inline Complex *as_complex(double *room) { return reinterpret_cast<Complex *>(room); }

inline bool has_nan(const Complex *z, int64_t n) {
    bool found = false;
    for (int64_t i = 0; i < n; ++i) found |= !(std::abs(z[i].re) + std::abs(z[i].im) < HUGE_VAL);
    return found;
}

// Divides by a power of 2 so that squares neither overflow nor underflow; returns the divisor.
inline double scale_down(Complex *z, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; ++i)
        largest = std::max({largest, std::abs(z[i].re), std::abs(z[i].im)});
    if (!(largest > 0) || largest == HUGE_VAL) return 1;
    const double scale = std::ldexp(1.0, std::ilogb(largest));
    for (int64_t i = 0; i < n; ++i) z[i] = {z[i].re / scale, z[i].im / scale};
    return scale;
}

inline void fill_nan(Complex *z, int64_t n) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::fill(z, z + n, Complex{nan, nan});
}

}  // namespace infini::cpu
