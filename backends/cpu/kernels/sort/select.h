// The k-th key of a line, without indices: long lines are narrowed to the keys between two pivots,
// by passes without branches (Floyd and Rivest).
#pragma once

#include <algorithm>
#include <cstdint>

#include "sort/order.h"

namespace infini::cpu {

// The keys from `low` to `high`, moved to `to`.
template <class K>
struct Narrowed {
    int64_t below = 0, inside = 0;

    Narrowed(const K *keys, int64_t n, K low, K high, K *to) {
        for (int64_t i = 0; i < n; ++i) {
            const K key = keys[i];
            to[inside] = key;
            inside += K(key - low) <= K(high - low);
            below += key < low;
        }
    }
};

// The key with `rank` smaller ones; keys are reordered. `spare` has as many elements.
template <class K>
K select_key(K *keys, K *spare, int64_t n, int64_t rank) {
    constexpr int64_t kShort = 600, kSample = 128, kNear = 14;
    while (n > kShort) {
        K sample[kSample];
        for (int64_t i = 0; i < kSample; ++i) sample[i] = keys[i * n / kSample];
        std::sort(sample, sample + kSample);
        // The rank's position in the sample has a standard deviation of at most 6.
        const int64_t middle = rank * kSample / n;
        K low = middle < kNear ? K(0) : sample[middle - kNear];
        K high = middle + kNear < kSample ? sample[middle + kNear] : std::numeric_limits<K>::max();
        const auto held = std::upper_bound(sample, sample + kSample, high) -
                          std::lower_bound(sample, sample + kSample, low);
        if (held > kSample / 2) low = high = sample[middle];  // many are equal
        Narrowed<K> found(keys, n, low, high, spare);
        if (rank < found.below)
            found = Narrowed<K>(keys, n, 0, K(low - 1), spare);
        else if (rank >= found.below + found.inside)
            found = Narrowed<K>(keys, n, K(high + 1), std::numeric_limits<K>::max(), spare);
        else if (low == high)
            return low;
        std::swap(keys, spare);
        n = found.inside, rank -= found.below;
    }
    std::nth_element(keys, keys + rank, keys + n);
    return keys[rank];
}

// Ranks that depend on the elements: of the lower median of what is not NaN, and of the lower
// median, which is the first NaN if there is one.
constexpr int64_t kNanMedian = -1, kMedian = -2;

// The index of the entry with `rank` smaller ones in a line. `room` has 2 * size elements.
template <class T>
int64_t select_place(const Line<T> &line, int64_t rank, Key<T> *room) {
    Key<T> *keys = room, *spare = room + line.size;
    auto fill = [&](int64_t step) {
        for (int64_t i = 0; i < line.size; ++i) keys[i] = order_key(line.data[i * step]);
    };
    line.step == 1 ? fill(1) : fill(line.step);
    if (rank < 0) {
        int64_t held = line.size;
        if constexpr (!std::is_integral_v<T>) {
            constexpr Key<T> kNan = std::numeric_limits<Key<T>>::max();
            for (int64_t i = 0; i < line.size; ++i) held -= keys[i] == kNan;
            if (rank == kMedian && held < line.size) return std::find(keys, spare, kNan) - keys;
        }
        rank = std::max<int64_t>(held - 1, 0) / 2;
    }
    const Key<T> found = select_key(keys, spare, line.size, rank);
    int64_t below = 0;
    auto count = [&](int64_t step) {
        for (int64_t i = 0; i < line.size; ++i) below += order_key(line.data[i * step]) < found;
    };
    line.step == 1 ? count(1) : count(line.step);
    for (int64_t i = 0, left = rank - below;; ++i)
        if (order_key(line.data[i * line.step]) == found && left-- == 0) return i;
}

}  // namespace infini::cpu
