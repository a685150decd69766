// Scans over the threads of a block, in their order.
#pragma once

namespace infini {

// What all threads before this one have, combined; `total` is that of all. Combining need not
// commute. Called by all threads of a block of `threads`, or, if there are no more, of a warp. Safe
// to call again and again.
template <int threads, class V, class Combine>
INFINI_DEVICE V scan_block(V value, V identity, Combine combine, V *total) {
    V running = value;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
        const V before = shuffle_up(running, distance);
        if (lane() >= distance) running = combine(before, running);
    }
    V before = shuffle_up(running, 1);
    if (lane() == 0) before = identity;
    *total = shuffle(running, kWarp - 1);
    if constexpr (threads > kWarp) {
        constexpr int kWarps = threads / kWarp;
        INFINI_SHARED V of_warps[kWarps];
        __syncthreads();  // the last call's have been read
        if (lane() == kWarp - 1) of_warps[warp()] = running;
        __syncthreads();
        V all = identity;
#pragma unroll
        for (int i = 0; i < kWarps; ++i) {
            if (i == warp()) before = combine(all, before);
            all = combine(all, of_warps[i]);
        }
        *total = all;
    }
    return before;
}

}  // namespace infini
