// Prefix sums of elements N by one block.
#include "group.cuh"

namespace infini {

constexpr int kThreads = 1024, kWarps = kThreads / kWarp, kEach = 8;

}  // namespace infini

using namespace infini;

INFINI_ENTRY(RunningSumParams, kThreads, 1) {
    INFINI_SHARED N sums[kWarps];
    N *counts = static_cast<N *>(p.counts);
    N carry = 0;
    for (int64_t base = 0; base < p.count; base += kThreads * kEach) {
        const int64_t first = base + int64_t(threadIdx.x) * kEach;
        N value[kEach], mine = 0;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            value[i] = first + i < p.count ? counts[first + i] : N(0);
            mine += value[i];
        }
        N upto = mine;  // sum over the warp's threads up to this one
#pragma unroll
        for (int distance = 1; distance < kWarp; distance *= 2) {
            const N other = shuffle_up(upto, distance);
            if (lane() >= distance) upto += other;
        }
        if (lane() == kWarp - 1) sums[warp()] = upto;
        __syncthreads();
        N before = carry;
        for (int i = 0; i < kWarps; ++i) {
            if (i < warp()) before += sums[i];
            carry += sums[i];
        }
        before += upto - mine;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            if (first + i < p.count) counts[first + i] = before;
            before += value[i];
        }
        __syncthreads();  // the sums have been read
    }
    if (threadIdx.x == 0 && p.total) *static_cast<N *>(p.total) = carry;
}
