// How many keys of a tile have each digit.
#include "radix.cuh"

using namespace infini;

INFINI_ENTRY(RadixParams, 256, 1) {
    INFINI_SHARED uint32_t histogram[kDigits];
    const Tile tile(p);
    const TileKeys keys(p, tile);
    histogram[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 4
    for (int i = threadIdx.x; i < tile.size; i += kThreads)
        atomicAdd(&histogram[digit_of(p, keys[i])], 1u);
    __syncthreads();
    p.counts[(tile.line * kDigits + threadIdx.x) * p.tiles + tile.number] = histogram[threadIdx.x];
}
