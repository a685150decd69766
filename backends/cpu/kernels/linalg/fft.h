// Fourier transforms of any length: Stockham's method by factors of 2, 3, 4, 5 and other small
// primes; lengths with a large prime factor as convolutions of a power of 2 (Bluestein's method).
// Several lines are transformed at a time, element by element side by side.
#pragma once

#include <memory>
#include <numbers>
#include <vector>

#include "linalg/dense.h"

namespace infini::cpu {

template <class T>
struct Signal {
    T *re, *im;
};

template <class T>
class Fourier {
public:
    explicit Fourier(int64_t n) : n_(n) {
        int64_t rest = n;
        for (int64_t r : {4, 2, 3, 5}) {
            while (rest % r == 0 && rest > 1) factors_.push_back(r), rest /= r;
        }
        for (int64_t p = 7; p <= kMostRadix && rest > 1; p += 2)
            while (rest % p == 0) factors_.push_back(p), rest /= p;
        if (rest > 1) {
            factors_.clear();
            make_chirp();
            return;
        }
        int64_t left = n;
        for (int64_t r : factors_) {
            left /= r;
            for (int64_t p = 0; p < left; ++p)
                for (int64_t k = 1; k < r; ++k) push(twiddles_, p * k, left * r);
            if (r > 5)
                for (int64_t k = 0; k < r; ++k) push(roots_, k, r);
        }
    }

    // Numbers of T that `run` needs besides the signal, for each line.
    int64_t room() const { return inner_ ? 4 * inner_->n_ : 2 * n_; }

    // In place, of `lines` signals side by side. `room` may be written to.
    void run(Signal<T> x, T *room, int64_t lines) const {
        if (inner_)
            run_chirp(x, room, lines);
        else
            run_factors(x, {room, room + n_ * lines}, lines);
    }

private:
    static constexpr int64_t kMostRadix = 31;
    using Table = std::vector<T>;  // pairs of cosine and minus sine

    static void push(Table &table, int64_t k, int64_t n) {
        const double angle = 2 * std::numbers::pi * double(k % n) / double(n);
        table.push_back(T(std::cos(angle)));
        table.push_back(T(-std::sin(angle)));
    }

    void run_factors(Signal<T> x, Signal<T> y, int64_t s) const {
        int64_t left = n_;
        const T *w = twiddles_.data(), *roots = roots_.data();
        const Signal<T> first = x;
        const int64_t count = n_ * s;
        for (int64_t r : factors_) {
            left /= r;
            if (r == 4)
                stage4(x, y, left, s, w);
            else if (r == 2)
                stage2(x, y, left, s, w);
            else
                stage(x, y, r, left, s, w, roots);
            if (r > 5) roots += 2 * r;
            w += 2 * left * (r - 1);
            s *= r;
            std::swap(x, y);
        }
        if (x.re != first.re) {
            std::copy(x.re, x.re + count, first.re);
            std::copy(x.im, x.im + count, first.im);
        }
    }

    static void stage2(Signal<T> x, Signal<T> y, int64_t m, int64_t s, const T *w) {
        for (int64_t p = 0; p < m; ++p) {
            const T c = w[2 * p], d = w[2 * p + 1];
            const T *__restrict ar = x.re + s * p, *__restrict ai = x.im + s * p;
            const T *__restrict br = ar + s * m, *__restrict bi = ai + s * m;
            T *__restrict yr = y.re + s * 2 * p, *__restrict yi = y.im + s * 2 * p;
            for (int64_t q = 0; q < s; ++q) {
                const T ur = ar[q] - br[q], ui = ai[q] - bi[q];
                yr[q] = ar[q] + br[q], yi[q] = ai[q] + bi[q];
                yr[q + s] = ur * c - ui * d, yi[q + s] = ur * d + ui * c;
            }
        }
    }

    static void stage4(Signal<T> x, Signal<T> y, int64_t m, int64_t s, const T *w) {
        for (int64_t p = 0; p < m; ++p) {
            const T *t = w + 6 * p;
            const T *__restrict xr = x.re + s * p, *__restrict xi = x.im + s * p;
            T *__restrict yr = y.re + s * 4 * p, *__restrict yi = y.im + s * 4 * p;
            const int64_t a = s * m, b = 2 * a, c = 3 * a;
            for (int64_t q = 0; q < s; ++q) {
                const T er = xr[q] + xr[q + b], ei = xi[q] + xi[q + b];
                const T fr = xr[q] - xr[q + b], fi = xi[q] - xi[q + b];
                const T gr = xr[q + a] + xr[q + c], gi = xi[q + a] + xi[q + c];
                const T hr = xr[q + a] - xr[q + c], hi = xi[q + a] - xi[q + c];
                const T ur = fr + hi, ui = fi - hr, vr = er - gr, vi = ei - gi;
                const T zr = fr - hi, zi = fi + hr;
                yr[q] = er + gr, yi[q] = ei + gi;
                yr[q + s] = ur * t[0] - ui * t[1], yi[q + s] = ur * t[1] + ui * t[0];
                yr[q + 2 * s] = vr * t[2] - vi * t[3], yi[q + 2 * s] = vr * t[3] + vi * t[2];
                yr[q + 3 * s] = zr * t[4] - zi * t[5], yi[q + 3 * s] = zr * t[5] + zi * t[4];
            }
        }
    }

    // Any small radix, by its definition.
    static void stage(Signal<T> x, Signal<T> y, int64_t r, int64_t m, int64_t s, const T *w,
                      const T *roots) {
        Table own;
        if (r <= 5) {
            for (int64_t k = 0; k < r; ++k) push(own, k, r);
            roots = own.data();
        }
        for (int64_t p = 0; p < m; ++p)
            for (int64_t k = 0; k < r; ++k) {
                T *__restrict yr = y.re + s * (r * p + k), *__restrict yi = y.im + s * (r * p + k);
                const T *xr = x.re + s * p, *xi = x.im + s * p;
                std::copy(xr, xr + s, yr);
                std::copy(xi, xi + s, yi);
                for (int64_t i = 1; i < r; ++i) {
                    const T c = roots[2 * (i * k % r)], d = roots[2 * (i * k % r) + 1];
                    const T *__restrict ar = xr + s * m * i, *__restrict ai = xi + s * m * i;
                    for (int64_t q = 0; q < s; ++q) {
                        yr[q] += ar[q] * c - ai[q] * d;
                        yi[q] += ar[q] * d + ai[q] * c;
                    }
                }
                if (k == 0) continue;
                const T *t = w + 2 * (p * (r - 1) + k - 1);
                for (int64_t q = 0; q < s; ++q) {
                    const T ur = yr[q], ui = yi[q];
                    yr[q] = ur * t[0] - ui * t[1], yi[q] = ur * t[1] + ui * t[0];
                }
            }
    }

    // e^(-i pi k^2 / n), and the transform of its conjugates.
    void make_chirp() {
        int64_t size = 1;
        while (size < 2 * n_ - 1) size *= 2;
        inner_ = std::make_unique<Fourier>(size);
        for (int64_t k = 0; k < n_; ++k) push(twiddles_, k * k % (2 * n_), 2 * n_);
        roots_.assign(size_t(2 * size), T(0));
        Table room(size_t(inner_->room()));
        T *re = roots_.data(), *im = re + size;
        for (int64_t k = 0; k < n_; ++k) {
            const int64_t other = (size - k) % size;
            re[k] = re[other] = twiddles_[size_t(2 * k)];
            im[k] = im[other] = -twiddles_[size_t(2 * k + 1)];
        }
        inner_->run({re, im}, room.data(), 1);
    }

    void run_chirp(Signal<T> x, T *room, int64_t lines) const {
        const int64_t size = inner_->n_, count = size * lines;
        const Signal<T> y = {room, room + count};
        T *spare = room + 2 * count;
        const T *w = twiddles_.data();
        auto times = [&](Signal<T> to, Signal<T> from, const T *c, const T *d, int64_t step,
                         int64_t n) {
            for (int64_t k = 0; k < n; ++k)
                for (int64_t q = k * lines; q < (k + 1) * lines; ++q) {
                    const T re = from.re[q], im = from.im[q];
                    to.re[q] = re * c[k * step] - im * d[k * step];
                    to.im[q] = re * d[k * step] + im * c[k * step];
                }
        };
        std::fill(room, room + 2 * count, T(0));
        times(y, x, w, w + 1, 2, n_);
        inner_->run(y, spare, lines);
        times(y, y, roots_.data(), roots_.data() + size, 1, size);
        inner_->run({y.im, y.re}, spare, lines);  // parts exchanged: the inverse
        times(x, y, w, w + 1, 2, n_);
        const T scale = T(1) / T(size);
        for (int64_t q = 0; q < n_ * lines; ++q) x.re[q] *= scale, x.im[q] *= scale;
    }

    int64_t n_;
    std::vector<int64_t> factors_;
    Table twiddles_, roots_;
    std::unique_ptr<Fourier> inner_;
};

}  // namespace infini::cpu
