// The counts of a digit become, for each tile, how many keys of the tiles before it have the digit.
#include "radix.cuh"

using namespace infini;

INFINI_ENTRY(RadixParams, 256, 1) {
    uint32_t *counts = p.counts + int64_t(blockIdx.x) * p.tiles;
    uint32_t done = 0;
    for (int first = 0; first < p.tiles; first += kThreads) {
        const int i = first + threadIdx.x;
        uint32_t all;
        const uint32_t before =
            scan_block<kThreads>(i < p.tiles ? counts[i] : 0u, 0u, fold::Sum(), &all);
        if (i < p.tiles) counts[i] = done + before;
        done += all;
    }
    if (threadIdx.x == 0) p.totals[blockIdx.x] = done;
}
