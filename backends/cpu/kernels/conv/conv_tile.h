// The inner loops of convolutions by taps: a tile of sums, of some features at some vectors of
// places, stays in registers while all taps of all channels are added.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "../simd.h"

namespace infini::cpu {

// Where the elements that a place is multiplied with lie, seen from the place: `count` offsets are
// those of a few channels, and `advance` leads to the next few.
struct TapOffsets {
    const int32_t *offsets;
    int64_t count, advance;
    int64_t steps;  // taps of all channels
    // What the taps read `ahead` elements further is fetched into the first cache, but not in the
    // last steps: there is nothing mapped, perhaps, and such addresses take long.
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
#pragma GCC unroll 8
            for (int k = 0; k < kVectors; ++k) __builtin_prefetch(from + ahead + k * width);
            // The smaller side of the tile is kept in registers, the other is read as it is used.
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

// By features - 1 and vectors - 1; null where the registers do not suffice.
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

}  // namespace infini::cpu
