// The ranks of a few keys: each is compared with all others, in vectors.
#pragma once

#include <algorithm>
#include <cstdint>

#include "simd.h"
#include "sort/order.h"

namespace infini::cpu {

inline constexpr int64_t kRankedLanes = int64_t(kWidth<uint64_t>);
inline constexpr int64_t kMostRanked = 16 * kRankedLanes;  // with more, sorting is faster

// The keys of a line of at most kMostRanked elements, and how many precede each of them: smaller
// ones, and equal ones with smaller indices.
struct Ranks {
    uint64_t keys[kMostRanked];
    int64_t ranks[kMostRanked];

    // With K of 32 bits, the lower half of a key is its index.
    template <class K>
    void count(int64_t n) {
        I64 lane;
        for (int64_t i = 0; i < kRankedLanes; ++i) lane[i] = i;
        for (int64_t i = n; i % kRankedLanes; ++i) keys[i] = 0;
        for (int64_t i = 0; i < n; i += kRankedLanes) {
            const U64 own = load<U64>(keys + i);
            U64 rank{};
            for (int64_t j = 0; j < n; ++j) {
                const U64 other = broadcast<U64>(keys[j]);
                rank -= U64(other < own);
                if constexpr (sizeof(K) == 8)
                    rank -= U64((other == own) & (broadcast<I64>(j - i) < lane));
            }
            store(ranks + i, as<I64>(rank));
        }
    }
};

// Sorts a line: its values, and the places where they stood.
template <class T, class F>
void sort_ranked(const T *from, int64_t from_step, T *to, int64_t to_step, int64_t *stood,
                 int64_t stood_step, int64_t n, const F &key) {
    using K = Key<T>;
    Ranks line;
    for (int64_t i = 0; i < n; ++i) {
        const K own = key(from[i * from_step]);
        line.keys[i] = sizeof(K) == 8 ? uint64_t(own) : uint64_t(own) << 32 | uint64_t(i);
    }
    line.count<K>(n);
    for (int64_t i = 0; i < n; ++i) {
        to[line.ranks[i] * to_step] = from[i * from_step];
        stood[line.ranks[i] * stood_step] = i;
    }
}

}  // namespace infini::cpu
