// Rotation of pairs of elements by angles given as sines and cosines. Angles are laid out once per
// token for all its heads.
#pragma once

#include "../attention/rows.h"

namespace infini::cpu {

inline constexpr int64_t kMostAngles = 256;  // laid out at a time

template <class C, class T>
INFINI_SIMD Vec<C> load_wide(const T *p) {
    if constexpr (std::is_same_v<C, double>)
        return load_f64(p);
    else
        return load_wide_f32(p);
}
template <class C, class T>
INFINI_SIMD void store_narrow(T *p, Vec<C> x) {
    if constexpr (std::is_same_v<C, double>)
        store_f64(p, x);
    else
        store_narrow_f32(p, x);
}

// y0, y1 = x0 c - x1 s, x0 s + x1 c for n pairs that are in two rows. y may alias x.
template <class C, class T>
inline void rotate_rows(T *y0, T *y1, const T *x0, const T *x1, const C *s, const C *c, int64_t n) {
    int64_t i = 0;
    for (; i + int64_t(kWidth<C>) <= n; i += kWidth<C>) {
        Vec<C> a = load_wide<C>(x0 + i), b = load_wide<C>(x1 + i);
        Vec<C> sine = load(s + i), cosine = load(c + i);
        store_narrow<C>(y0 + i, a * cosine - b * sine);
        store_narrow<C>(y1 + i, a * sine + b * cosine);
    }
    for (; i < n; ++i) {
        C a = load_element<C>(x0[i]), b = load_element<C>(x1[i]);
        store_element(y0[i], a * c[i] - b * s[i]);
        store_element(y1[i], a * s[i] + b * c[i]);
    }
}

// The same for n elements whose pairs are adjacent. Here `c` has each cosine twice, and `s` each
// sine twice, the first of the two negated.
template <class C, class T>
inline void rotate_neighbours(T *y, const T *x, const C *s, const C *c, int64_t n) {
    const Bits<Vec<C>> swapped = iota<Bits<Vec<C>>>() ^ 1;
    int64_t i = 0;
    for (; i + int64_t(kWidth<C>) <= n; i += kWidth<C>) {
        Vec<C> a = load_wide<C>(x + i);
        Vec<C> b = __builtin_shuffle(a, swapped);
        store_narrow<C>(y + i, a * load(c + i) + b * load(s + i));
    }
    for (; i < n; i += 2) {
        C a = load_element<C>(x[i]), b = load_element<C>(x[i + 1]);
        store_element(y[i], a * c[i] + b * s[i]);
        store_element(y[i + 1], b * c[i + 1] + a * s[i + 1]);
    }
}

// Lays out n angles for rotate_neighbours, in place: the arrays have room for 2n.
template <class C>
inline void double_angles(C *s, C *c, int64_t n) {
    for (int64_t i = n - 1; i >= 0; --i) {
        C sine = s[i], cosine = c[i];
        c[2 * i] = c[2 * i + 1] = cosine;
        s[2 * i] = -sine, s[2 * i + 1] = sine;
    }
}

}  // namespace infini::cpu
