// Short Fourier transforms in registers: the butterflies of which longer transforms consist.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "simd.h"

namespace infini::cpu {

inline constexpr int kMostRadix = 31;

// Vectors of complex numbers.
template <class V>
struct Pair {
    V re, im;

    INFINI_SIMD Pair operator+(Pair o) const { return {re + o.re, im + o.im}; }
    INFINI_SIMD Pair operator-(Pair o) const { return {re - o.re, im - o.im}; }
    INFINI_SIMD Pair times(V c, V d) const {  // c + i d
        return {fma(re, c, -(im * d)), fma(re, d, im * c)};
    }
    INFINI_SIMD Pair turned() const { return {im, -re}; }  // times -i
};

template <class V>
INFINI_SIMD Pair<V> load_pair(const Element<V> *re, const Element<V> *im) {
    return {load<V>(re), load<V>(im)};
}

template <class V>
INFINI_SIMD void transform4(Pair<V> &a, Pair<V> &b, Pair<V> &c, Pair<V> &d) {
    const Pair<V> e = a + c, f = a - c, g = b + d, h = (b - d).turned();
    a = e + g, b = f + h, c = e - g, d = f - h;
}

template <int kRadix, class V>
INFINI_SIMD void transform(Pair<V> (&x)[kRadix]) {
    using T = Element<V>;
    if constexpr (kRadix == 2) {
        const Pair<V> a = x[0], b = x[1];
        x[0] = a + b, x[1] = a - b;
    } else if constexpr (kRadix == 3) {
        const V half = broadcast<V>(T(0.5)), sine = broadcast<V>(T(0.86602540378443864676));
        const Pair<V> sum = x[1] + x[2], gap = x[1] - x[2];
        const Pair<V> rest = {x[0].re - half * sum.re, x[0].im - half * sum.im};
        const Pair<V> turn = Pair<V>{gap.re * sine, gap.im * sine}.turned();
        x[0] = x[0] + sum, x[1] = rest + turn, x[2] = rest - turn;
    } else if constexpr (kRadix == 4) {
        transform4(x[0], x[1], x[2], x[3]);
    } else if constexpr (kRadix == 5) {
        const V c1 = broadcast<V>(T(0.30901699437494742410)),
                c2 = broadcast<V>(T(-0.8090169943749474241));
        const V s1 = broadcast<V>(T(0.95105651629515357212)),
                s2 = broadcast<V>(T(0.58778525229247312917));
        const Pair<V> a = x[1] + x[4], b = x[2] + x[3], c = x[1] - x[4], d = x[2] - x[3], o = x[0];
        const Pair<V> e = {fma(a.re, c1, fma(b.re, c2, o.re)), fma(a.im, c1, fma(b.im, c2, o.im))};
        const Pair<V> f = {fma(a.re, c2, fma(b.re, c1, o.re)), fma(a.im, c2, fma(b.im, c1, o.im))};
        const Pair<V> g = Pair<V>{fma(c.re, s1, d.re * s2), fma(c.im, s1, d.im * s2)}.turned();
        const Pair<V> h =
            Pair<V>{fma(c.re, s2, -(d.re * s1)), fma(c.im, s2, -(d.im * s1))}.turned();
        x[0] = o + a + b, x[1] = e + g, x[4] = e - g, x[2] = f + h, x[3] = f - h;
    } else {
        static_assert(kRadix == 8);
        const V r = broadcast<V>(T(0.70710678118654752440));
        transform4(x[0], x[2], x[4], x[6]);
        transform4(x[1], x[3], x[5], x[7]);
        const Pair<V> a = x[0], b = x[2], c = x[4], d = x[6], o = x[1];
        const Pair<V> p = {(x[3].re + x[3].im) * r, (x[3].im - x[3].re) * r};
        const Pair<V> q = x[5].turned();
        const Pair<V> s = {(x[7].im - x[7].re) * r, -(x[7].re + x[7].im) * r};
        x[0] = a + o, x[1] = b + p, x[2] = c + q, x[3] = d + s;
        x[4] = a - o, x[5] = b - p, x[6] = c - q, x[7] = d - s;
    }
}

// An odd number of values, by their sums and differences. roots: cosines and negated sines.
template <class V>
INFINI_SIMD void transform_odd(Pair<V> *x, int radix, const Element<V> *roots) {
    Pair<V> sums[kMostRadix / 2], gaps[kMostRadix / 2];
    const int half = radix / 2;
    const Pair<V> first = x[0];
    for (int i = 0; i < half; ++i) {
        sums[i] = x[i + 1] + x[radix - 1 - i], gaps[i] = x[i + 1] - x[radix - 1 - i];
        x[0] = x[0] + sums[i];
    }
    for (int k = 1; k <= half; ++k) {
        Pair<V> even = first, odd = {};
        for (int i = 0, at = k; i < half; ++i, at = at + k < radix ? at + k : at + k - radix) {
            const V c = broadcast<V>(roots[2 * at]), d = broadcast<V>(roots[2 * at + 1]);
            even = {fma(sums[i].re, c, even.re), fma(sums[i].im, c, even.im)};
            odd = {fma(gaps[i].re, d, odd.re), fma(gaps[i].im, d, odd.im)};
        }
        x[k] = even - odd.turned(), x[radix - k] = even + odd.turned();
    }
}

// Interleaves the lanes of two vectors in groups of `kGroup`, from their first or second halves.
template <int kGroup, bool kSecond, class V>
INFINI_SIMD V zip(V a, V b) {
    constexpr int n = int(kLanes<V>);
    return [&]<int... i>(std::integer_sequence<int, i...>) {
        constexpr Bits<V> order = {(i / kGroup % 2 * n + i / (2 * kGroup) * kGroup + i % kGroup +
                                    (kSecond ? n / 2 : 0))...};
        return __builtin_shuffle(a, b, order);
    }(std::make_integer_sequence<int, n>());
}

// Interleaves four vectors, group by group.
template <int kGroup, class V>
INFINI_SIMD void store_zipped(Element<V> *to, V a, V b, V c, V d) {
    constexpr int64_t n = int64_t(kLanes<V>);
    const V e = zip<kGroup, false>(a, c), f = zip<kGroup, true>(a, c);
    const V g = zip<kGroup, false>(b, d), h = zip<kGroup, true>(b, d);
    store(to, zip<kGroup, false>(e, g)), store(to + n, zip<kGroup, true>(e, g));
    store(to + 2 * n, zip<kGroup, false>(f, h)), store(to + 3 * n, zip<kGroup, true>(f, h));
}

}  // namespace infini::cpu
