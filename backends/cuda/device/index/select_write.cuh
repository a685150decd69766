// Writes those that count, in their order: elements E, or (kCoordinates) where they stand.
#include "select.cuh"

namespace infini {

constexpr int kWarps = kThreads / kWarp;

INFINI_DEVICE void put(const SelectParams &p, uint64_t to, int64_t i, int64_t offset) {
    if constexpr (kCoordinates) {
        int64_t *out = static_cast<int64_t *>(p.out) + to * p.ndim;
#pragma unroll 1
        for (int d = p.ndim - 1; d >= 0; --d) {
            const int64_t next = divide_apart(i, p.size[d]);
            out[d] = i - next * p.size[d];
            i = next;
        }
    } else {
        static_cast<E *>(p.out)[to] = static_cast<const E *>(p.data)[offset];
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(SelectParams, kThreads, 1) {
    INFINI_SHARED int found[kWarps];
    const int64_t first = int64_t(blockIdx.x) * kPiece + threadIdx.x;
    uint64_t base = p.counts[blockIdx.x];
#pragma unroll 1
    for (int round = 0; round < kRounds; ++round) {
        const int64_t i = first + round * kThreads;
        int64_t offset[2] = {};
        bool here = i < p.places.count;
        if (here) {
            p.places.at(i, offset);
            here = counts(p, offset[1]);
        }
        const Lanes lanes = vote(here);
        if (lane() == 0) found[warp()] = count_lanes(lanes);
        __syncthreads();
        int before = 0, all = 0;
        for (int w = 0; w < kWarps; ++w) {
            if (w < warp()) before += found[w];
            all += found[w];
        }
        if (here) {
            const int mine = count_lanes(lanes & lanes_before());
            put(p, base + uint64_t(before + mine), i, offset[0]);
        }
        base += uint64_t(all);
        __syncthreads();  // the counts have been read
    }
}
