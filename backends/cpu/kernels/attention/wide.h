// Attention for many query rows at a time: the computation for one panel of rows and one tile of
// keys, all in F32.
//
// Vector lanes hold rows, so that scores, their maxima and sums need no cross-lane operations, and
// keys and values are used in memory order, one element broadcast against a vector of rows. A panel
// holds V vectors of rows: its queries are [depth][rows], its scores [keys][rows], its results
// [depth of values][rows]. Scores are in units of log 2.
#pragma once

#include "softmax.h"

namespace infini::cpu {

#if defined(__AVX512F__) || defined(__ARM_NEON)
inline constexpr size_t kStrip = 8;  // keys, or elements of values, per step
#else
inline constexpr size_t kStrip = 4;
#endif
inline constexpr size_t kPanelVectors = 2;
inline constexpr int64_t kPanel = int64_t(kPanelVectors * kWidth<float>);

// Scores of kStrip keys: s[i][rows] = sum over d of keys[i][d] q[d][rows].
template <size_t V>
[[gnu::noinline]] void score_strip(float *s, const float *const *keys, int64_t depth,
                                   const float *q) {
    constexpr size_t width = V * kWidth<float>;
    F32 sum[kStrip][V] = {};
    const float *k[kStrip];
    for (size_t i = 0; i < kStrip; ++i) k[i] = keys[i];
    int64_t d = 0;
    auto step = [&](auto multiply) {
        F32 b[V];
        for (size_t j = 0; j < V; ++j) b[j] = load(q + j * kWidth<float>);
        q += width;
#pragma GCC unroll 8
        for (size_t i = 0; i < kStrip; ++i)
#pragma GCC unroll 2
            for (size_t j = 0; j < V; ++j) sum[i][j] = multiply(i, b[j], sum[i][j]);
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j)
#pragma GCC unroll 2
            for (size_t i = 0; i < kStrip; i += 4)
                end_step(sum[i][j], sum[i + 1][j], sum[i + 2][j], sum[i + 3][j]);
    };
#if defined(__ARM_NEON)
    for (; d + 4 <= depth; d += 4) {
        F32 a[kStrip];
#pragma GCC unroll 8
        for (size_t i = 0; i < kStrip; ++i) a[i] = load(k[i] + d);
        step([&](size_t i, F32 b, F32 c) { return fma_lane<0>(a[i], b, c); });
        step([&](size_t i, F32 b, F32 c) { return fma_lane<1>(a[i], b, c); });
        step([&](size_t i, F32 b, F32 c) { return fma_lane<2>(a[i], b, c); });
        step([&](size_t i, F32 b, F32 c) { return fma_lane<3>(a[i], b, c); });
    }
#endif
    for (; d < depth; ++d)
        step([&](size_t i, F32 b, F32 c) { return fma(broadcast<F32>(k[i][d]), b, c); });
#pragma GCC unroll 8
    for (size_t i = 0; i < kStrip; ++i)
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j) store(s + i * width + j * kWidth<float>, sum[i][j]);
}

// Scores of `count` keys. `s` has room for kStrip - 1 more, whose contents are unspecified.
template <size_t V>
void score_tile(float *s, const float *keys, int64_t stride, int64_t count, int64_t depth,
                const float *q) {
    for (int64_t t = 0; t < count; t += kStrip) {
        const float *strip[kStrip];
        for (int64_t i = 0; i < int64_t(kStrip); ++i)
            strip[i] = keys + std::min(t + i, count - 1) * stride;
        score_strip<V>(s + t * int64_t(V * kWidth<float>), strip, depth, q);
    }
}

// M elements of the results: o[i][rows] = o[i][rows] * shrink + sum over keys of v[key][i]
// p[key][rows].
template <size_t V, size_t M>
[[gnu::noinline]] void value_strip(float *o, const float *v, int64_t stride, int64_t count,
                                   const float *p, const float *shrink) {
    constexpr size_t width = V * kWidth<float>;
    F32 sum[M][V];
#pragma GCC unroll 8
    for (size_t i = 0; i < M; ++i)
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j)
            sum[i][j] = load(o + i * width + j * kWidth<float>) * load(shrink + j * kWidth<float>);
    for (int64_t t = 0; t < count; ++t, p += width, v += stride) {
        F32 b[V];
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j) b[j] = load(p + j * kWidth<float>);
#if defined(__ARM_NEON)
        if constexpr (M % 4 == 0) {
#pragma GCC unroll 2
            for (size_t i = 0; i < M; i += 4) {
                F32 a = load(v + i);
#pragma GCC unroll 2
                for (size_t j = 0; j < V; ++j) {
                    sum[i][j] = fma_lane<0>(a, b[j], sum[i][j]);
                    sum[i + 1][j] = fma_lane<1>(a, b[j], sum[i + 1][j]);
                    sum[i + 2][j] = fma_lane<2>(a, b[j], sum[i + 2][j]);
                    sum[i + 3][j] = fma_lane<3>(a, b[j], sum[i + 3][j]);
                }
            }
            continue;
        }
#endif
#pragma GCC unroll 8
        for (size_t i = 0; i < M; ++i)
#pragma GCC unroll 2
            for (size_t j = 0; j < V; ++j) sum[i][j] = fma(broadcast<F32>(v[i]), b[j], sum[i][j]);
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < M; ++i)
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j) store(o + i * width + j * kWidth<float>, sum[i][j]);
}

template <size_t V>
void value_tile(float *o, const float *v, int64_t stride, int64_t count, int64_t depth,
                const float *p, const float *shrink) {
    constexpr int64_t width = V * kWidth<float>;
    int64_t e = 0;
    for (; e + int64_t(kStrip) <= depth; e += kStrip)
        value_strip<V, kStrip>(o + e * width, v + e, stride, count, p, shrink);
    for (; e < depth; ++e) value_strip<V, 1>(o + e * width, v + e, stride, count, p, shrink);
}

// The visible keys of a panel's rows.
struct Sight {
    int32_t *keys;          // how many keys of this tile
    int32_t *before;        // of these, how many precede its window; null: none
    const float *slope;     // null: no slopes
    float *place;           // of the query, relative to the tile's first key
    const uint8_t *hidden;  // by key; null: none hidden
    bool all;               // every row sees every key
};

// Adds slopes to a vector of rows' scores and masks keys that are not visible.
inline void hide_tile(float *s, size_t width, int64_t count, const Sight &sight, size_t row,
                      F32 &top) {
    I32 keys = load<I32>(sight.keys + row), key{}, before{};
    if (sight.before) before = load<I32>(sight.before + row);
    for (int64_t t = 0; t < count; ++t, key += 1, s += width) {
        F32 x = load(s);
        if (sight.slope)
            x = fma(load(sight.slope + row), cast<F32>(key) - load(sight.place + row), x);
        x = select(key < keys, x, broadcast<F32>(kNone));
        if (sight.before) x = select(key < before, broadcast<F32>(kNone), x);
        if (sight.hidden && sight.hidden[t]) x = broadcast<F32>(kNone);
        store(s, x);
        top = larger(x, top);
    }
}

// Turns scores into probabilities relative to the running maximum; updates the maximum and the
// sums, and sets `shrink`, the factor that rescales earlier results.
template <size_t V>
void weigh_tile(float *s, int64_t count, const Sight &sight, float *greatest, float *sum,
                float *shrink) {
    constexpr size_t step = kWidth<float>, width = V * step;
    F32 top[V], base[V], total[V];
    for (size_t j = 0; j < V; ++j) top[j] = load(greatest + j * step);
    if (sight.all && !sight.slope && !sight.hidden) {
        F32 other[V];  // two independent maxima hide the latency of the instruction
        for (size_t j = 0; j < V; ++j) other[j] = top[j];
        int64_t t = 0;
        for (; t + 2 <= count; t += 2)
#pragma GCC unroll 2
            for (size_t j = 0; j < V; ++j) {
                top[j] = larger(load(s + t * width + j * step), top[j]);
                other[j] = larger(load(s + (t + 1) * width + j * step), other[j]);
            }
        for (size_t j = 0; j < V; ++j) {
            if (t < count) top[j] = larger(load(s + t * width + j * step), top[j]);
            top[j] = larger(other[j], top[j]);
        }
    } else {
        for (size_t j = 0; j < V; ++j)
            hide_tile(s + j * step, width, count, sight, j * step, top[j]);
    }
    for (size_t j = 0; j < V; ++j) base[j] = reference(top[j]), total[j] = F32{};
    auto weigh = [&](float *p, size_t j) {
        F32 weight = exp2_below(load(p) - base[j]);
        store(p, weight);
        total[j] += weight;
    };
    int64_t t = 0;
    for (; t + 2 <= count; t += 2, s += 2 * width)  // two at a time: each is a long chain
#pragma GCC unroll 4
        for (size_t i = 0; i < 2 * V; ++i) weigh(s + i * step, i % V);
    if (t < count)
#pragma GCC unroll 2
        for (size_t j = 0; j < V; ++j) weigh(s + j * step, j);
    for (size_t j = 0; j < V; ++j) {
        F32 less = exp2_below(load(greatest + j * step) - base[j]);
        store(greatest + j * step, top[j]);
        store(shrink + j * step, less);
        store(sum + j * step, load(sum + j * step) * less + total[j]);
    }
}

}  // namespace infini::cpu
