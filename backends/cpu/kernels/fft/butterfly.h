// Short Fourier transforms in registers: the butterflies of which longer transforms consist.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "simd.h"

namespace infini::cpu {

// The largest prime factors that are transformed directly: in one line, and in several at a time.
inline constexpr int kMostRadix = 31, kMostRadixOfLines = 251;

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

// A prime length, by sums and differences of opposite values. roots: cosines and negated sines.
template <int kRadix, class V>
INFINI_SIMD void transform_prime(Pair<V> (&x)[kRadix], const Element<V> *roots) {
    constexpr int kHalf = kRadix / 2;
    Pair<V> sums[kHalf], gaps[kHalf];
    const Pair<V> first = x[0];
#pragma GCC unroll 16
    for (int i = 0; i < kHalf; ++i) {
        sums[i] = x[i + 1] + x[kRadix - 1 - i], gaps[i] = x[i + 1] - x[kRadix - 1 - i];
        x[0] = x[0] + sums[i];
    }
#pragma GCC unroll 16
    for (int k = 1; k <= kHalf; ++k) {
        Pair<V> even = first, odd = {};
#pragma GCC unroll 16
        for (int i = 0; i < kHalf; ++i) {
            const int at = k * (i + 1) % kRadix;
            const V c = broadcast<V>(roots[2 * at]), d = broadcast<V>(roots[2 * at + 1]);
            even = {fma(sums[i].re, c, even.re), fma(sums[i].im, c, even.im)};
            odd = {fma(gaps[i].re, d, odd.re), fma(gaps[i].im, d, odd.im)};
        }
        x[k] = even - odd.turned(), x[kRadix - k] = even + odd.turned();
    }
}

template <int kRadix, class V>
INFINI_SIMD void transform(Pair<V> (&x)[kRadix], const Element<V> *roots) {
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
    } else if constexpr (kRadix % 2) {
        transform_prime(x, roots);
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

// Results k, ..., k + kCount - 1 of a transform of a longer prime length, and those opposite to
// them. Calls put(k, value).
template <int kCount, class V, class Put>
INFINI_SIMD void transform_odd(Pair<V> first, const Pair<V> *sums, const Pair<V> *gaps, int radix,
                               const Element<V> *roots, int k, const Put &put) {
    Pair<V> even[kCount], odd[kCount];
    int at[kCount];
    for (int j = 0; j < kCount; ++j) even[j] = first, odd[j] = Pair<V>{}, at[j] = k + j;
    for (int i = 0; i < radix / 2; ++i) {
        const Pair<V> sum = sums[i], gap = gaps[i];
#pragma GCC unroll 4
        for (int j = 0; j < kCount; ++j) {
            const V c = broadcast<V>(roots[2 * at[j]]), d = broadcast<V>(roots[2 * at[j] + 1]);
            even[j] = {fma(sum.re, c, even[j].re), fma(sum.im, c, even[j].im)};
            odd[j] = {fma(gap.re, d, odd[j].re), fma(gap.im, d, odd[j].im)};
            at[j] += k + j;
            at[j] = at[j] < radix ? at[j] : at[j] - radix;
        }
    }
    for (int j = 0; j < kCount; ++j) {
        put(k + j, even[j] - odd[j].turned());
        put(radix - k - j, even[j] + odd[j].turned());
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

// The lanes first, first + 2, ... of two adjacent vectors.
template <int first, class V>
INFINI_SIMD V every_second(V a, V b) {
    return [&]<int... i>(std::integer_sequence<int, i...>) {
        constexpr Bits<V> order = {(2 * i + first)...};
        return __builtin_shuffle(a, b, order);
    }(std::make_integer_sequence<int, int(kLanes<V>)>());
}

// Transposes a square of lanes in registers: log2(n) rounds that interleave row i with row
// i + n / 2.
template <class V>
INFINI_SIMD void transpose_lanes(V *rows) {
    constexpr int n = int(kLanes<V>);
    V next[n];
#pragma GCC unroll 8
    for (int round = 1; round < n; round *= 2) {
#pragma GCC unroll 16
        for (int i = 0; i < n / 2; ++i) {
            next[2 * i] = zip<1, false>(rows[i], rows[i + n / 2]);
            next[2 * i + 1] = zip<1, true>(rows[i], rows[i + n / 2]);
        }
#pragma GCC unroll 16
        for (int i = 0; i < n; ++i) rows[i] = next[i];
    }
}

}  // namespace infini::cpu
