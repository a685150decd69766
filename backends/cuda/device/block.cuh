// Operations of warps, blocks and the grid.
#pragma once

namespace infini {

inline constexpr int kWarp = INFINI_WARP;
static_assert(kWarp == 32 || kWarp == 64, "a warp of 128 is used as groups of 32 lanes");

INFINI_DEVICE int lane() { return int(threadIdx.x) % kWarp; }
INFINI_DEVICE int warp() { return int(threadIdx.x) / kWarp; }

// A bit for each lane of a warp.
using Lanes = Choose<(kWarp > 32), uint64_t, uint32_t>;
inline constexpr Lanes kAllLanes = ~Lanes(0);

#if INFINI_LANE_MASKS
#define INFINI_SHUFFLE(way, value, lane) __shfl##way##_sync(kAllLanes, value, lane, kWarp)
#else
#define INFINI_SHUFFLE(way, value, lane) __shfl##way(value, lane, kWarp)
#endif

// Waits for all lanes of the warp and makes their writes visible.
INFINI_DEVICE void sync_warp() {
#if INFINI_LANE_GROUPS || !INFINI_LANE_MASKS
    __threadfence_block();
    INFINI_SHUFFLE(, 0, lane());
    __threadfence_block();
#else
    __syncwarp();
#endif
}

// A mask of the lanes for which the condition is true (ballot).
INFINI_DEVICE Lanes vote(bool here) {
#if INFINI_LANE_GROUPS
    Lanes lanes = Lanes(here) << lane();
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2) lanes |= INFINI_SHUFFLE(_xor, lanes, mask);
    return lanes;
#elif INFINI_LANE_MASKS
    return __ballot_sync(kAllLanes, here);
#else
    return __ballot(here);
#endif
}
INFINI_DEVICE bool any_lane(bool here) { return vote(here) != 0; }
INFINI_DEVICE int count_lanes(Lanes lanes) {
    if constexpr (kWarp > 32)
        return __popcll(lanes);
    else
        return __popc(lanes);
}
INFINI_DEVICE Lanes this_lane() { return Lanes(1) << lane(); }
INFINI_DEVICE Lanes lanes_before() { return this_lane() - 1; }
// The index of the first lane in a mask.
INFINI_DEVICE int first_lane(Lanes lanes) { return count_lanes((lanes & (~lanes + 1)) - 1); }

// This thread's index in a one-dimensional grid, and the number of threads.
INFINI_DEVICE int64_t grid_thread() { return int64_t(blockIdx.x) * blockDim.x + threadIdx.x; }
INFINI_DEVICE int64_t grid_threads() { return int64_t(gridDim.x) * blockDim.x; }

namespace fold {
struct Sum {
    template <class C>
    INFINI_DEVICE C operator()(C a, C b) const {
        return a + b;
    }
};
struct Product {
    template <class C>
    INFINI_DEVICE C operator()(C a, C b) const {
        return a * b;
    }
};
// NaN propagates.
struct Max {
    template <class C>
    INFINI_DEVICE C operator()(C a, C b) const {
        return a > b || a != a ? a : b;
    }
};
struct Min {
    template <class C>
    INFINI_DEVICE C operator()(C a, C b) const {
        return a < b || a != a ? a : b;
    }
};
}  // namespace fold

// Values of any size from another lane, 4 bytes at a time.
template <class V>
INFINI_DEVICE V shuffle_xor(V value, int mask) {
    if constexpr (sizeof(V) == 4) {
        return bit_cast<V>(INFINI_SHUFFLE(_xor, bit_cast<uint32_t>(value), mask));
    } else if constexpr (sizeof(V) < 4) {
        uint32_t word = 0;
        memcpy(&word, &value, sizeof value);
        word = INFINI_SHUFFLE(_xor, word, mask);
        memcpy(&value, &word, sizeof value);
        return value;
    } else {
        static_assert(sizeof(V) % 4 == 0);
        struct Words {
            uint32_t word[sizeof(V) / 4];
        } words = bit_cast<Words>(value);
#pragma unroll
        for (unsigned i = 0; i < sizeof(V) / 4; ++i)
            words.word[i] = INFINI_SHUFFLE(_xor, words.word[i], mask);
        return bit_cast<V>(words);
    }
}
template <class V>
INFINI_DEVICE V shuffle_up(V value, int distance) {
    static_assert(sizeof(V) % 4 == 0);
    struct Words {
        uint32_t word[sizeof(V) / 4];
    } words = bit_cast<Words>(value);
#pragma unroll
    for (unsigned i = 0; i < sizeof(V) / 4; ++i)
        words.word[i] = INFINI_SHUFFLE(_up, words.word[i], distance);
    return bit_cast<V>(words);
}
template <class V>
INFINI_DEVICE V shuffle(V value, int source) {
    if constexpr (sizeof(V) < 4) {
        uint32_t word = 0;
        memcpy(&word, &value, sizeof value);
        word = INFINI_SHUFFLE(, word, source);
        memcpy(&value, &word, sizeof value);
        return value;
    } else {
        static_assert(sizeof(V) % 4 == 0);
        struct Words {
            uint32_t word[sizeof(V) / 4];
        } words = bit_cast<Words>(value);
#pragma unroll
        for (unsigned i = 0; i < sizeof(V) / 4; ++i)
            words.word[i] = INFINI_SHUFFLE(, words.word[i], source);
        return bit_cast<V>(words);
    }
}

// Reduces over all lanes of the warp in a fixed order; every lane gets the result.
template <class Fold, class V>
INFINI_DEVICE V fold_warp(V value, Fold fold) {
#pragma unroll
    for (int mask = kWarp / 2; mask > 0; mask /= 2) value = fold(value, shuffle_xor(value, mask));
    return value;
}

// Reduces over all threads of a block of `threads`; every thread gets the result. Called by all
// threads; may be called repeatedly.
template <int threads, class Fold, class V>
INFINI_DEVICE V fold_block(V value, Fold fold) {
    constexpr int kWarps = (threads + kWarp - 1) / kWarp;
    static_assert(threads % kWarp == 0);
    value = fold_warp(value, fold);
    if constexpr (kWarps > 1) {
        INFINI_SHARED V parts[kWarps];
        __syncthreads();  // the previous call's partial results have been read
        if (lane() == 0) parts[warp()] = value;
        __syncthreads();
        value = parts[0];
#pragma unroll
        for (int i = 1; i < kWarps; ++i) value = fold(value, parts[i]);
    }
    return value;
}

// The same, but every warp reduces the partial results like its own values, which is less code for
// many warps. Their number must be a power of two.
template <int threads, class Fold, class V>
INFINI_DEVICE V fold_large_block(V value, Fold fold) {
    constexpr int kWarps = threads / kWarp;
    static_assert(threads % kWarp == 0 && kWarps <= kWarp && (kWarps & (kWarps - 1)) == 0);
    INFINI_SHARED V parts[kWarps];
    value = fold_warp(value, fold);
    __syncthreads();  // the previous call's partial results have been read
    if (lane() == 0) parts[warp()] = value;
    __syncthreads();
    value = parts[lane() % kWarps];
#pragma unroll
    for (int mask = kWarps / 2; mask > 0; mask /= 2) value = fold(value, shuffle_xor(value, mask));
    return value;
}

}  // namespace infini
