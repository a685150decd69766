// Where the keys of each digit begin in a sorted line, a block for each line and pass.
#include "radix.cuh"

using namespace infini;

INFINI_ENTRY(RadixParams, 256, 1) {
    const int64_t line = blockIdx.x / kPasses, pass = blockIdx.x - line * kPasses;
    const uint32_t *counts = p.counts + (line * p.parts * kPasses + pass) * kDigits + threadIdx.x;
    uint32_t sum = 0, all;
#pragma unroll 8
    for (int i = 0; i < p.parts; ++i) sum += counts[int64_t(i) * kPasses * kDigits];
    const uint32_t start = scan_block<kDigits>(sum, 0u, fold::Sum(), &all);
    p.starts[int64_t(blockIdx.x) * kDigits + threadIdx.x] = start;
    const bool same = __syncthreads_count(sum == all) != 0;
    if (threadIdx.x == 0) p.idle[blockIdx.x] = same && pass < kPasses - 1;
}
