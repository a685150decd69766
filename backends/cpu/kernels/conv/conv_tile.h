// The inner loops of convolutions by taps: a tile of sums, for some features at some vectors of
// positions, stays in registers while all taps of all channels are added.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "../simd.h"

namespace infini::cpu {

// Offsets from a position to the elements that it is multiplied with: `count` offsets cover a few
// channels, and `advance` is the distance to the next channels.
struct TapOffsets {
    const int32_t *offsets;
    int64_t count, advance;
    int64_t steps;  // taps of all channels
    // The inputs `ahead` elements further are prefetched into L1, except in the last steps: the
    // addresses may be unmapped, which makes a prefetch slow.
    int64_t ahead, last;
};

#if defined(__AVX512F__)
inline constexpr int kTapSums = 27, kTapFeatures = 9;
#elif defined(__aarch64__)
inline constexpr int kTapSums = 24, kTapFeatures = 8;
#else
inline constexpr int kTapSums = 12, kTapFeatures = 6;
#endif

constexpr int most_tap_vectors(int features) { return std::min(8, kTapSums / features); }
inline constexpr int kTapVectors = most_tap_vectors(1);

// to[f * pitch + j] = begin[f] + the sum over steps of w[step][f] * x[offset of step + j].
template <class C, int kFeatures, int kVectors>
[[gnu::noinline]] void add_taps(const TapOffsets &taps, const C *x, const C *w, const C *begin,
                                C *to, int64_t pitch) {
    using V = Vec<C>;
    constexpr int64_t width = int64_t(kWidth<C>);
    V sums[kFeatures][kVectors];
#pragma GCC unroll 16
    for (int f = 0; f < kFeatures; ++f)
#pragma GCC unroll 8
        for (int k = 0; k < kVectors; ++k) sums[f][k] = broadcast<V>(begin[f]);
    for (int64_t left = taps.steps; left > 0; left -= taps.count, x += taps.advance) {
        const int64_t count = std::min(taps.count, left);
        const int64_t ahead = left > taps.last ? taps.ahead : 0;
        for (int64_t t = 0; t < count; ++t, w += kFeatures) {
            const C *from = x + taps.offsets[t];
            // With one or two features, load instructions are the bottleneck.
            if constexpr (kFeatures > 2)
#pragma GCC unroll 8
                for (int k = 0; k < kVectors; ++k) __builtin_prefetch(from + ahead + k * width);
            // The smaller side of the tile is kept in registers, the other is loaded on use.
            if constexpr (kVectors <= kFeatures) {
                V values[kVectors];
#pragma GCC unroll 8
                for (int k = 0; k < kVectors; ++k) values[k] = load<V>(from + k * width);
#pragma GCC unroll 16
                for (int f = 0; f < kFeatures; ++f) {
                    const V weight = broadcast<V>(w[f]);
#pragma GCC unroll 8
                    for (int k = 0; k < kVectors; ++k)
                        sums[f][k] = fma(values[k], weight, sums[f][k]);
                }
            } else {
                V weights[kFeatures];
#pragma GCC unroll 16
                for (int f = 0; f < kFeatures; ++f) weights[f] = broadcast<V>(w[f]);
#pragma GCC unroll 8
                for (int k = 0; k < kVectors; ++k) {
                    const V value = load<V>(from + k * width);
#pragma GCC unroll 16
                    for (int f = 0; f < kFeatures; ++f)
                        sums[f][k] = fma(value, weights[f], sums[f][k]);
                }
            }
        }
    }
#pragma GCC unroll 16
    for (int f = 0; f < kFeatures; ++f)
#pragma GCC unroll 8
        for (int k = 0; k < kVectors; ++k) store(to + f * pitch + k * width, sums[f][k]);
}

template <class C>
using AddTaps = void (*)(const TapOffsets &, const C *, const C *, const C *, C *, int64_t);

// Indexed by features - 1 and vectors - 1; null if there are not enough registers.
template <class C>
inline constexpr auto kAddTaps = [] {
    std::array<std::array<AddTaps<C>, kTapVectors>, kTapFeatures> all{};
    auto row = [&]<int f, int... k>(std::integer_sequence<int, k...>) {
        ((all[f - 1][k] = add_taps<C, f, k + 1>), ...);
    };
    [&]<int... f>(std::integer_sequence<int, f...>) {
        (row.template operator()<f + 1>(std::make_integer_sequence<int, most_tap_vectors(f + 1)>()),
         ...);
    }(std::make_integer_sequence<int, kTapFeatures>());
    return all;
}();

// ---- Features in vector lanes -------------------------------------------------------------------

// Images with few columns do not fill vectors of positions, but many features do.
inline constexpr int64_t kLaneFeatures = int64_t(kWidth<float>);
inline constexpr int kTapPlaces = 14;
constexpr int most_tap_places(int vectors) { return std::min(kTapPlaces, 28 / vectors); }

// to[position][f] for kRows rows of kColumns positions and kVectors vectors of features.
template <int kVectors, int kRows, int kColumns>
[[gnu::noinline]] void add_taps_across(const TapOffsets &taps, const float *x, int64_t pitch,
                                       const float *w, const float *begin, float *to) {
    constexpr int64_t width = kLaneFeatures;
    constexpr int kPlaces = kRows * kColumns;
    F32 sums[kPlaces][kVectors];
#pragma GCC unroll 32
    for (int p = 0; p < kPlaces; ++p)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) sums[p][v] = load<F32>(begin + v * width);
    for (int64_t left = taps.steps; left > 0; left -= taps.count, x += taps.advance) {
        const int64_t count = std::min(taps.count, left);
        for (int64_t t = 0; t < count; ++t, w += kVectors * width) {
            const float *from = x + taps.offsets[t];
            F32 weights[kVectors];
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                weights[v] = load<F32>(w + v * width);
                __builtin_prefetch(w + (v + 16 * kVectors) * width);
            }
#pragma GCC unroll 2
            for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 16
                for (int c = 0; c < kColumns; ++c) {
                    const F32 value = broadcast<F32>(from[r * pitch + c]);
#pragma GCC unroll 4
                    for (int v = 0; v < kVectors; ++v)
                        sums[r * kColumns + c][v] =
                            fma(value, weights[v], sums[r * kColumns + c][v]);
                }
        }
    }
#pragma GCC unroll 32
    for (int p = 0; p < kPlaces; ++p)
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) store(to + (p * kVectors + v) * width, sums[p][v]);
}

using AddTapsAcross = void (*)(const TapOffsets &, const float *, int64_t, const float *,
                               const float *, float *);

// Indexed by rows - 1 and columns - 1.
template <int kVectors>
inline constexpr auto kAddTapsAcross = [] {
    std::array<std::array<AddTapsAcross, kTapPlaces>, 2> all{};
    constexpr int most = most_tap_places(kVectors);
    [&]<int... c>(std::integer_sequence<int, c...>) {
        ((all[0][c] = add_taps_across<kVectors, 1, c + 1>), ...);
    }(std::make_integer_sequence<int, most>());
    [&]<int... c>(std::integer_sequence<int, c...>) {
        ((all[1][c] = add_taps_across<kVectors, 2, c + 1>), ...);
    }(std::make_integer_sequence<int, most / 2>());
    return all;
}();

}  // namespace infini::cpu
