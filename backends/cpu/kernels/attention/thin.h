// Attention for a few query rows at a time, such as when decoding one token: keys and values are
// read once, in memory order, and converted in registers. Vectors run along the depth.
#pragma once

#include "softmax.h"

namespace infini::cpu {

using F32x4 = VectorOf<float, 16>::type;

// The sums of the lanes of four vectors.
INFINI_SIMD F32x4 reduce_four(F32 a, F32 b, F32 c, F32 d) {
#if defined(__ARM_NEON)
    return F32x4(vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)));
#elif defined(__AVX2__)
    auto fold = [](F32 x) {
#if defined(__AVX512F__)
        __m256 y = _mm256_add_ps(_mm512_castps512_ps256(x),
                                 _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(x), 1)));
#else
        __m256 y = x;
#endif
        return _mm_add_ps(_mm256_castps256_ps128(y), _mm256_extractf128_ps(y, 1));
    };
    return F32x4(_mm_hadd_ps(_mm_hadd_ps(fold(a), fold(b)), _mm_hadd_ps(fold(c), fold(d))));
#else
    return F32x4{reduce_add(a), reduce_add(b), reduce_add(c), reduce_add(d)};
#endif
}

// The next rows of keys or values are prefetched to L2, because caches are paged and the hardware
// prefetcher does not cross pages. From there they are prefetched to L1 a few rows ahead. Short
// ranges are likely to be in L2 already, where prefetching again takes a quarter of their time.
inline constexpr int64_t kPrefetchedBytes = 64 << 10;
template <class T, bool prefetched>
struct NextRows {
    const T *at;
    int64_t stride;

    NextRows from(int64_t row) const { return {at + row * stride, stride}; }
    INFINI_SIMD void prefetch(int64_t row, int64_t column) const {
        if constexpr (prefetched) __builtin_prefetch(at + row * stride + column, 0, 2);
    }
};

// Scores of K keys for R rows: s[r][key] = q[r] . k[key]. Rows of q are zero-padded to vectors.
template <class T, size_t R, size_t K, bool P>
INFINI_SIMD void thin_score_strip(float *s, int64_t s_row, const T *k, int64_t stride,
                                  int64_t depth, const float *q, int64_t q_row,
                                  NextRows<T, P> next) {
    F32 sum[R][K] = {};
    auto step = [&](int64_t d, auto read) {
        F32 b[R];
#pragma GCC unroll 4
        for (size_t r = 0; r < R; ++r) b[r] = load(q + r * q_row + d);
#pragma GCC unroll 8
        for (size_t i = 0; i < K; ++i) {
            F32 a = read(k + int64_t(i) * stride + d);
#pragma GCC unroll 4
            for (size_t r = 0; r < R; ++r) sum[r][i] = fma(a, b[r], sum[r][i]);
        }
        if constexpr (K % 4 == 0)
#pragma GCC unroll 4
            for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 2
                for (size_t i = 0; i < K; i += 4)
                    end_step(sum[r][i], sum[r][i + 1], sum[r][i + 2], sum[r][i + 3]);
    };
    constexpr int64_t line = 64 / sizeof(T);
    int64_t d = 0;
    for (; d + line <= depth; d += line) {
#pragma GCC unroll 8
        for (size_t i = 0; i < K; ++i) {
            next.prefetch(int64_t(i), d);
            __builtin_prefetch(k + int64_t(i + K) * stride + d);
        }
#pragma GCC unroll 8
        for (int64_t j = 0; j < line; j += kWidth<float>)
            step(d + j, [](const T *p) { return load_wide_f32(p); });
    }
    for (; d + int64_t(kWidth<float>) <= depth; d += kWidth<float>)
        step(d, [](const T *p) { return load_wide_f32(p); });
    if (d < depth) step(d, [&](const T *p) { return load_f32(p, size_t(depth - d)); });
#pragma GCC unroll 4
    for (size_t r = 0; r < R; ++r) {
        if constexpr (K % 4 == 0) {
#pragma GCC unroll 2
            for (size_t i = 0; i < K; i += 4)
                store(s + r * s_row + i,
                      reduce_four(sum[r][i], sum[r][i + 1], sum[r][i + 2], sum[r][i + 3]));
        } else {
            // Summed in the order of reduce_four: a key's score does not depend on its neighbours.
            for (size_t i = 0; i < K; ++i)
                s[r * s_row + i] = reduce_four(sum[r][i], F32{}, F32{}, F32{})[0];
        }
    }
}

template <class T, size_t R, bool P>
void thin_scores(float *s, int64_t s_row, const T *k, int64_t stride, int64_t count, int64_t depth,
                 const float *q, int64_t q_row, NextRows<T, P> next) {
    constexpr int64_t strip = R == 1 ? 8 : 4;
    int64_t t = 0;
    for (; t + strip <= count; t += strip)
        thin_score_strip<T, R, strip, P>(s + t, s_row, k + t * stride, stride, depth, q, q_row,
                                         next.from(t));
    for (; t < count; ++t)
        thin_score_strip<T, R, 1, P>(s + t, s_row, k + t * stride, stride, depth, q, q_row,
                                     next.from(t));
}

// Values read at a time for all columns: few, so that prefetches keep their order.
template <bool prefetched>
inline constexpr int64_t kValueKeys = prefetched ? 8 : 16;

// N vectors of the results of R rows: o[r][e] += sum over keys of p[r][key] v[key][e].
template <class T, size_t R, size_t N, bool P>
INFINI_SIMD void thin_value_strip(float *o, int64_t o_row, const T *v, int64_t stride,
                                  int64_t count, const float *p, int64_t p_row,
                                  NextRows<T, P> next) {
    F32 sum[R][N];
#pragma GCC unroll 4
    for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (size_t i = 0; i < N; ++i) sum[r][i] = load(o + r * o_row + i * kWidth<float>);
    auto step = [&](auto multiply) {
        F32 a[N];
#pragma GCC unroll 8
        for (size_t i = 0; i < N; ++i) a[i] = load_wide_f32(v + i * kWidth<float>);
        if (N > 1)
#pragma GCC unroll 4
            for (size_t i = 0; i < N * kWidth<float>; i += 64 / sizeof(T)) {
                next.prefetch(0, int64_t(i));
                __builtin_prefetch(v + kValueKeys<P> * stride + i);
            }
        v += stride, next.at += next.stride;
#pragma GCC unroll 4
        for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 8
            for (size_t i = 0; i < N; ++i) sum[r][i] = multiply(r, a[i], sum[r][i]);
    };
    int64_t t = 0;
#if defined(__ARM_NEON)
    for (; t + 4 <= count; t += 4) {
        F32 w[R];
#pragma GCC unroll 4
        for (size_t r = 0; r < R; ++r) w[r] = load(p + r * p_row + t);
        step([&](size_t r, F32 a, F32 c) { return fma_lane<0>(w[r], a, c); });
        step([&](size_t r, F32 a, F32 c) { return fma_lane<1>(w[r], a, c); });
        step([&](size_t r, F32 a, F32 c) { return fma_lane<2>(w[r], a, c); });
        step([&](size_t r, F32 a, F32 c) { return fma_lane<3>(w[r], a, c); });
    }
#endif
    for (; t < count; ++t)
        step([&](size_t r, F32 a, F32 c) { return fma(broadcast<F32>(p[r * p_row + t]), a, c); });
#pragma GCC unroll 4
    for (size_t r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (size_t i = 0; i < N; ++i) store(o + r * o_row + i * kWidth<float>, sum[r][i]);
}

// Processes kValueKeys keys at a time, so that memory is read nearly in order.
template <class T, size_t R, bool P>
void thin_values(float *o, int64_t o_row, const T *v, int64_t stride, int64_t count, int64_t depth,
                 const float *p, int64_t p_row, NextRows<T, P> next) {
    constexpr size_t vectors = R == 1 ? 8 : 4;
    constexpr int64_t step = int64_t(kWidth<float>), some = kValueKeys<P>;
    for (; count > 0; count -= some, v += some * stride, p += some, next.at += some * next.stride) {
        int64_t n = std::min(some, count), e = 0;
        for (; e + int64_t(vectors) * step <= depth; e += int64_t(vectors) * step) {
            thin_value_strip<T, R, vectors, P>(o + e, o_row, v + e, stride, n, p, p_row,
                                               {next.at + e, next.stride});
        }
        for (; e + step <= depth; e += step)
            thin_value_strip<T, R, 1, P>(o + e, o_row, v + e, stride, n, p, p_row, next);
        for (; e < depth; ++e)
            for (size_t r = 0; r < R; ++r) {
                float sum = o[r * o_row + e];
                for (int64_t t = 0; t < n; ++t)
                    sum = fma(p[r * p_row + t], load_element<float>(v[t * stride + e]), sum);
                o[r * o_row + e] = sum;
            }
    }
}

// Rows processed together: as many as the registers allow.
#if defined(__AVX512F__) || defined(__ARM_NEON)
inline constexpr int64_t kThinGroup = 4;
#else
inline constexpr int64_t kThinGroup = 2;
#endif

// Calls f.template operator()<R>(first) for groups of R of the `rows` rows.
template <class F>
INFINI_SIMD void by_rows(int64_t rows, F &&f) {
    int64_t r = 0;
    for (; r + kThinGroup <= rows; r += kThinGroup) f.template operator()<kThinGroup>(r);
    if constexpr (kThinGroup > 2) {
        if (rows - r == 3) return f.template operator()<3>(r);
        if (rows - r == 2) return f.template operator()<2>(r);
    }
    if (rows - r == 1) f.template operator()<1>(r);
}

// Turns one row of scores, in whole vectors, into probabilities; returns the factor that rescales
// earlier results. See weigh_tile in wide.h.
inline float weigh_row(float *s, int64_t count, float &greatest, float &sum) {
    F32 tops = broadcast<F32>(kNone);
    for (int64_t t = 0; t < count; t += kWidth<float>) tops = larger(load(s + t), tops);
    const float top = std::max(greatest, reduce_max(tops)), base = reference(top);
    F32 totals{};
    for (int64_t t = 0; t < count; t += kWidth<float>) {
        F32 weight = exp2_below(load(s + t) - base);
        store(s + t, weight);
        totals += weight;
    }
    float shrink = exp2_below(greatest - base);
    greatest = top;
    sum = sum * shrink + reduce_add(totals);
    return shrink;
}

}  // namespace infini::cpu
