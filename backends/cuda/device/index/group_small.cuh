// A stable sort of few entries by one block: every warp has a part of them.
#include "group_params.h"
#include "group_rank.cuh"

namespace infini {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kThreads = 512, kWarps = kThreads / kWarp;

// next[w][d], how often digit d occurs in the part of warp w, becomes where the first of them goes.
INFINI_DEVICE void sum_up(uint32_t (&next)[kWarps][kDigits], uint32_t (&sums)[kWarps]) {
    const int digit = int(threadIdx.x);
    uint32_t all = 0;
    if (digit < kDigits)
        for (int w = 0; w < kWarps; ++w) all += next[w][digit];
    uint32_t upto = all;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
        const uint32_t other = shuffle_up(upto, distance);
        if (lane() >= distance) upto += other;
    }
    if (lane() == kWarp - 1) sums[warp()] = upto;
    __syncthreads();
    uint32_t base = upto - all;
    for (int w = 0; w < warp(); ++w) base += sums[w];
    if (digit < kDigits) {
        for (int w = 0; w < kWarps; ++w) {
            const uint32_t count = next[w][digit];
            next[w][digit] = base;
            base += count;
        }
    }
    __syncthreads();
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(GroupSmallParams, kThreads, 1) {
    INFINI_SHARED uint32_t next[kWarps][kDigits], sums[kWarps];
    const int part = (p.entries + kThreads - 1) / kThreads * kWarp;
    const int begin = warp() * part, end = begin + part < p.entries ? begin + part : p.entries;
    uint32_t *mine = next[warp()];
#pragma unroll 1
    for (int pass = 0; pass < p.passes; ++pass) {
        const uint32_t *keys = p.lists + pass % 2 * p.stride;
        const uint32_t *order = p.lists + (2 + pass % 2) * p.stride;
        uint32_t *sorted_keys = p.lists + (1 - pass % 2) * p.stride;
        uint32_t *sorted_order = p.lists + (3 - pass % 2) * p.stride;
        const int shift = pass * kDigitBits;
        for (int i = lane(); i < kDigits; i += kWarp) mine[i] = 0;
        __syncwarp();
        for (int i = begin + lane(); i < end; i += kWarp)
            atomicAdd(&mine[keys[i] >> shift & (kDigits - 1)], 1u);
        __syncthreads();
        sum_up(next, sums);
        for (int base = begin; base < end; base += kWarp) {
            const int i = base + lane();
            const bool here = i < end;
            const uint32_t key = here ? keys[i] : 0, digit = key >> shift & (kDigits - 1);
            const Rank rank = rank_of<kDigitBits>(digit, here);
            uint32_t to = 0;
            if (here) to = mine[digit] + rank.before;
            __syncwarp();
            if (here && rank.before == 0) mine[digit] += rank.equal;
            __syncwarp();
            if (here) {
                sorted_keys[to] = key;
                sorted_order[to] = pass ? order[i] : uint32_t(i);
            }
        }
        __syncthreads();  // what was written can be read
    }
}
