// Scans over the threads of a block, in thread order.
#pragma once

namespace infini {

// Exclusive scan over the lanes of a warp; `total` is the warp's result. The operation need not be
// commutative.
template <class V, class Combine>
INFINI_DEVICE V scan_warp(V value, V identity, Combine combine, V *total) {
    V running = value;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
        const V before = shuffle_up(running, distance);
        if (lane() >= distance) running = combine(before, running);
    }
    V before = shuffle_up(running, 1);
    if (lane() == 0) before = identity;
    *total = shuffle(running, kWarp - 1);
    return before;
}

// The same over warps, all lanes of which have the warp's value. Called by all threads of a block
// of `threads`, or by one warp if there are no others. May be called repeatedly.
template <int threads, class V, class Combine>
INFINI_DEVICE V scan_warps(V value, V identity, Combine combine, V *total) {
    if constexpr (threads <= kWarp) {
        *total = value;
        return identity;
    } else {
        constexpr int kWarps = threads / kWarp;
        INFINI_SHARED V of_warps[kWarps];
        __syncthreads();  // the previous call's values have been read
        if (lane() == 0) of_warps[warp()] = value;
        __syncthreads();
        V all = identity, before = identity;
#pragma unroll
        for (int i = 0; i < kWarps; ++i) {
            if (i == warp()) before = all;
            all = combine(all, of_warps[i]);
        }
        *total = all;
        return before;
    }
}

// The same over all threads.
template <int threads, class V, class Combine>
INFINI_DEVICE V scan_block(V value, V identity, Combine combine, V *total) {
    V mine;
    const V before = scan_warp(value, identity, combine, &mine);
    return combine(scan_warps<threads>(mine, identity, combine, total), before);
}

}  // namespace infini
