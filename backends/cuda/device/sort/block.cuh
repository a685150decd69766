// Sorts lines that fit into shared memory by radix sort, one block per line. Each warp has a chunk
// of adjacent entries and processes a row of them at a time, so that the sort is stable. P is the
// type of indices in the result.
#include "index/group_rank.cuh"
#include "keys.cuh"
#include "scan/block_scan.cuh"

namespace infini {

inline constexpr int kDigitBits = kKeyBits < 8 ? kKeyBits : 8, kDigits = 1 << kDigitBits;
inline constexpr int kWarps = kThreads / kWarp, kTile = kThreads * kItems;
static_assert(kThreads % kWarp == 0);
static_assert(kTile <= 65536);  // indices are stored in 16 bits

// Keys of 16 bits share a word with their indices.
inline constexpr int kLowBits = kKeyBits <= 16 ? 16 : 0;
inline constexpr bool kHasPlaces = kLowBits == 0;

INFINI_DEVICE uint32_t digit_of(Key word, int shift) {
    return uint32_t(word >> shift) & (kDigits - 1);
}

// Replaces the number of entries of each digit in each warp by the position of the first one.
INFINI_DEVICE void find_starts(uint32_t (*counts)[kDigits]) {
    constexpr int kEach = (kDigits + kThreads - 1) / kThreads;
    const int first = threadIdx.x * kEach;
    uint32_t sums[kEach], sum = 0, all;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        sums[i] = sum;
        if (first + i < kDigits)
#pragma unroll
            for (int k = 0; k < kWarps; ++k) sum += counts[k][first + i];
    }
    const uint32_t before = scan_block<kThreads>(sum, 0u, fold::Sum(), &all);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        if (first + i >= kDigits) break;
        uint32_t start = before + sums[i];
#pragma unroll
        for (int k = 0; k < kWarps; ++k) {
            const uint32_t count = counts[k][first + i];
            counts[k][first + i] = start;
            start += count;
        }
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(TileParams, kThreads, kMinBlocks) {
    INFINI_DYNAMIC_SHARED(memory);
    INFINI_SHARED uint32_t counts[kWarps][kDigits];
    Key *const words = reinterpret_cast<Key *>(memory);
    // Output positions of this pass, and indices of the next one.
    uint16_t *now = reinterpret_cast<uint16_t *>(words + kTile), *next = now + kTile;
    const int64_t line = blockIdx.x;
    const T *x = static_cast<const T *>(p.x) + p.from.offsets(line);
    const int begin = warp() * kItems * kWarp + lane();  // first entry of this lane

    // Loops that need not keep their data in registers are not unrolled, to reduce compile time.
#pragma unroll 4
    for (int i = begin; i < begin + kItems * kWarp; i += kWarp) {
        Key key = kLastKey;  // padding is sorted last
        if (i < p.size) {
            if constexpr (kEntries)
                key = static_cast<const Key *>(p.in.keys)[line * p.in.pitch + i];
            else
                key = order_key(x[i * p.from.step]);
        }
        words[i] = kHasPlaces ? key : key << kLowBits | Key(i);
        if (kHasPlaces) now[i] = uint16_t(i);
    }
#pragma unroll 1
    for (int shift = kLowBits; shift < kLowBits + kKeyBits; shift += kDigitBits) {
        Key held[kItems];
#pragma unroll
        for (int k = 0; k < kItems; ++k) held[k] = words[begin + k * kWarp];
#pragma unroll
        for (int i = lane(); i < kDigits; i += kWarp) counts[warp()][i] = 0;
        sync_warp();
        uint32_t ranks[kItems];
        rank_rows<kDigitBits>(held, shift, counts[warp()], ranks);
        __syncthreads();
        find_starts(counts);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kItems; ++k) {
            const uint32_t at = counts[warp()][digit_of(held[k], shift)] + ranks[k];
            words[at] = held[k];
            if (kHasPlaces) next[at] = now[begin + k * kWarp];
        }
        uint16_t *const last = now;
        now = next, next = last;
        __syncthreads();
    }

    T *values = static_cast<T *>(p.values) + p.to.offsets(line);
    P *places = static_cast<P *>(p.places) + p.stood.offsets(line);
#pragma unroll 2
    for (int i = threadIdx.x; i < p.count; i += kThreads) {
        const Key key = words[p.first + i] >> kLowBits;
        int64_t place = kHasPlaces ? now[p.first + i] : words[p.first + i] & 0xffffu;
        if constexpr (kEntries) place = p.in.places[line * p.in.pitch + place];
        values[i * p.to.step] = has_one_value<T>(key) ? value_of<T>(key) : x[place * p.from.step];
        places[i * p.stood.step] = P(place);
    }
}
