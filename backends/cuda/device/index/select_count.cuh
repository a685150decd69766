// How many elements of each piece count.
#include "select.cuh"

using namespace infini;

INFINI_ENTRY(SelectParams, kThreads, 1) {
    const int64_t first = int64_t(blockIdx.x) * kPiece + threadIdx.x;
    int found = 0;
#pragma unroll 4
    for (int round = 0; round < kRounds; ++round) {
        const int64_t i = first + round * kThreads;
        if (i >= p.places.count) break;
        int64_t offset[2];
        p.places.at(i, offset);
        found += counts(p, offset[1]);
    }
    found = fold_block<kThreads>(found, fold::Sum());
    if (threadIdx.x == 0) p.counts[blockIdx.x] = uint64_t(found);
}
