// argwhere and masked_select: count, then write.
#pragma once

#include "places.h"

namespace infini {

struct SelectParams {
    const void *data, *tested;
    uint64_t *counts;  // of each chunk; then the exclusive prefix sums
    void *out;
    Places<2> places;    // in the output tensor and in the tested tensor
    uint64_t low, high;  // an element is selected if it has any of these bits
    int64_t size[8];     // sizes of the dimensions, for coordinates
    int32_t ndim;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

// Selects elements of M (1 to 16 bytes) in which any of certain bits is set.
namespace infini {

constexpr int kThreads = 256, kRounds = 16, kPiece = kThreads * kRounds;

template <class Element>
INFINI_DEVICE bool has_bits(const SelectParams &p, const Element &element) {
    if constexpr (sizeof(Element) == 16)
        return ((element.low & p.low) | (element.high & p.high)) != 0;
    else
        return (element & Element(p.low)) != 0;
}

INFINI_DEVICE bool counts(const SelectParams &p, int64_t offset) {
    return has_bits(p, static_cast<const M *>(p.tested)[offset]);
}

}  // namespace infini

#ifdef INFINI_KERNEL_SELECT_COUNT
// Counts the selected elements of each chunk.
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
#endif

#ifdef INFINI_KERNEL_SELECT_WRITE
#include "scan/block_scan.cuh"

// Writes the selected elements in order: elements E, or (kCoordinates) their coordinates.
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
    // The number of selected elements before those of a round and a warp.
    INFINI_SHARED int before[kRounds * kWarps];
    const int64_t first = int64_t(blockIdx.x) * kPiece + threadIdx.x;
    uint32_t selected = 0;  // a bit for each round
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
        const int64_t i = first + round * kThreads;
        int64_t offset[2];
        bool here = i < p.places.count;
        if (here) {
            p.places.at(i, offset);
            here = counts(p, offset[1]);
        }
        selected |= uint32_t(here) << round;
    }
#pragma unroll
    for (int round = 0; round < kRounds; ++round) {
        const Lanes lanes = vote(selected >> round & 1);
        if (lane() == 0) before[round * kWarps + warp()] = count_lanes(lanes);
    }
    __syncthreads();
    static_assert(kRounds * kWarps <= kThreads);
    const bool has_count = threadIdx.x < kRounds * kWarps;
    int all;
    const int sum = scan_block<kThreads>(has_count ? before[threadIdx.x] : 0, 0, fold::Sum(), &all);
    if (has_count) before[threadIdx.x] = sum;
    __syncthreads();
    const uint64_t base = p.counts[blockIdx.x];
#pragma unroll 4
    for (int round = 0; round < kRounds; ++round) {
        const bool here = selected >> round & 1;
        const Lanes lanes = vote(here);
        if (!here) continue;
        const int64_t i = first + round * kThreads;
        int64_t offset[2];
        p.places.at(i, offset);
        const int to = before[round * kWarps + warp()] + count_lanes(lanes & lanes_before());
        put(p, base + uint64_t(to), i, offset[0]);
    }
}
#endif

#endif  // INFINI_DEVICE
