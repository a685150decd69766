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
#endif

#endif  // INFINI_DEVICE
