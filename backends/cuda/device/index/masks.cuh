// mask_counts and the operators that use its counts. A block processes a chunk of 4096 elements of
// a dense mask, 16 per thread.
#pragma once

#include "places.h"

namespace infini {

struct MaskParams {
    void *out;
    const void *data, *source;
    const uint8_t *mask;
    int64_t *counts;             // before each chunk, and in all
    int64_t count;               // elements of the mask
    int64_t limit;               // elements or rows of the result, or elements of the source
    int64_t fill;                // rows: what is written beyond the last selected element
    int64_t row_step, dim_step;  // rows: strides of the result, in elements
    Places<1> places;            // data: offsets in elements; rows: only the sizes
    int32_t aligned;             // the mask is aligned to 16 bytes
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "words.cuh"

namespace infini {

constexpr int kThreads = 256, kEach = 16, kChunk = kThreads * kEach;

// The number of selected elements before a chunk, clamped: invalid counts must not lead to accesses
// outside the tensors.
INFINI_DEVICE int64_t start_of(const MaskParams &p, int64_t chunk) {
    const int64_t start = p.counts[chunk];
    return start < 0 ? 0 : start < p.limit ? start : p.limit;
}

// A bit for each of this thread's elements that is selected.
INFINI_DEVICE uint32_t selected_bits(const MaskParams &p) {
    const int64_t first = int64_t(blockIdx.x) * kChunk + int64_t(threadIdx.x) * kEach;
    uint32_t bits = 0;
    if (first + kEach <= p.count) {
        const Vec<uint8_t, kEach> flags = load_some<kEach>(p.mask + first, p.aligned);
#pragma unroll
        for (int i = 0; i < kEach; ++i) bits |= uint32_t(flags[i] != 0) << i;
    } else {
        for (int i = 0; i < kEach && first + i < p.count; ++i)
            bits |= uint32_t(p.mask[first + i] != 0) << i;
    }
    return bits;
}

}  // namespace infini

#ifdef INFINI_KERNEL_MASKS_COUNT
// Counts the selected elements of each chunk.
using namespace infini;

INFINI_ENTRY(MaskParams, kThreads, 1) {
    const int found = fold_block<kThreads>(__popc(selected_bits(p)), fold::Sum());
    if (threadIdx.x == 0) p.counts[blockIdx.x] = found;
}
#endif

#if defined(INFINI_KERNEL_MASKS_ROWS) || defined(INFINI_KERNEL_MASKS_TAKE)
#include "scan/block_scan.cuh"

// Lists the selected elements of the block's chunk, in shared memory, so that neighbouring threads
// write neighbouring results. Returns their number.
namespace infini {

INFINI_DEVICE int list_selected(const MaskParams &p, uint16_t (&list)[kChunk]) {
    uint32_t bits = selected_bits(p);
    int all, to = scan_block<kThreads>(__popc(bits), 0, fold::Sum(), &all);
    for (; bits; bits &= bits - 1)
        list[to++] = uint16_t(int(threadIdx.x) * kEach + __popc((bits & (~bits + 1)) - 1));
    __syncthreads();
    return all;
}

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_MASKS_ROWS
// Writes the coordinates of selected elements.
using namespace infini;

INFINI_ENTRY(MaskParams, kThreads, 1) {
    INFINI_SHARED uint16_t list[kChunk];
    int64_t *const out = static_cast<int64_t *>(p.out);
    const int64_t chunks = (p.count + kChunk - 1) / kChunk, total = start_of(p, chunks);
    for (int64_t row = total + grid_thread(); row < p.limit; row += grid_threads())
        for (int d = 0; d < kDims; ++d) out[row * p.row_step + d * p.dim_step] = p.fill;
    if (blockIdx.x >= chunks) return;
    const int64_t base = start_of(p, blockIdx.x), first = int64_t(blockIdx.x) * kChunk;
    if (base >= p.limit) return;
    const int all = list_selected(p, list);
    for (int k = int(threadIdx.x); k < all && base + k < p.limit; k += kThreads) {
        int64_t rest = first + list[k];
        int64_t *const row = out + (base + k) * p.row_step;
#pragma unroll
        for (int d = 0; d + 1 < kDims; ++d) {  // the innermost dimension first
            const int64_t next = p.places.large ? divide_apart(rest, p.places.size[d])
                                                : p.places.divider[d].divide(uint32_t(rest));
            row[(kDims - 1 - d) * p.dim_step] = rest - next * p.places.size[d];
            rest = next;
        }
        if (kDims > 0) row[0] = rest;
    }
}
#endif

#ifdef INFINI_KERNEL_MASKS_TAKE
// Writes the selected elements E.
using namespace infini;

INFINI_ENTRY(MaskParams, kThreads, 1) {
    INFINI_SHARED uint16_t list[kChunk];
    E *const out = static_cast<E *>(p.out);
    const int64_t chunks = (p.count + kChunk - 1) / kChunk, total = start_of(p, chunks);
    for (int64_t i = total + grid_thread(); i < p.limit; i += grid_threads()) out[i] = E{};
    if (blockIdx.x >= chunks) return;
    const int64_t base = start_of(p, blockIdx.x), first = int64_t(blockIdx.x) * kChunk;
    if (base >= p.limit) return;
    const int all = list_selected(p, list);
#pragma unroll 4
    for (int k = int(threadIdx.x); k < all; k += kThreads) {
        int64_t offset[1];
        p.places.at(first + list[k], offset);
        const E element = static_cast<const E *>(p.data)[offset[0]];
        if (base + k < p.limit) out[base + k] = element;
    }
}
#endif

#ifdef INFINI_KERNEL_MASKS_PUT
#include "scan/block_scan.cuh"

// Replaces the selected elements E by those of the source, in order.
using namespace infini;

INFINI_ENTRY(MaskParams, kThreads, 1) {
    INFINI_SHARED uint16_t ranks[kChunk];  // among the selected elements of the chunk
    constexpr uint16_t kKept = kChunk;
    const uint32_t bits = selected_bits(p);
    int all, rank = scan_block<kThreads>(__popc(bits), 0, fold::Sum(), &all);
#pragma unroll
    for (int i = 0; i < kEach; ++i)
        ranks[int(threadIdx.x) * kEach + i] = bits >> i & 1 ? uint16_t(rank++) : kKept;
    __syncthreads();
    const int64_t base = start_of(p, blockIdx.x), first = int64_t(blockIdx.x) * kChunk;
#pragma unroll 4
    for (int k = int(threadIdx.x); k < kChunk; k += kThreads) {
        if (first + k >= p.count) break;
        int64_t offset[1];
        p.places.at(first + k, offset);
        const bool kept = ranks[k] == kKept || base + ranks[k] >= p.limit;
        static_cast<E *>(p.out)[first + k] =
            kept ? static_cast<const E *>(p.data)[offset[0]]
                 : static_cast<const E *>(p.source)[base + ranks[k]];
    }
}
#endif

#endif  // INFINI_DEVICE
