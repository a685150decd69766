// A stable radix sort of entries by group, with a chunk of the entries per warp.
#pragma once

#include "divide.h"

namespace infini {

struct GroupParams {
    const uint32_t *keys, *order;  // of the entries; order null: the original order
    uint32_t *sorted_keys, *sorted_order;
    uint32_t *counts, *totals;  // [digit][chunk], and of all chunks
    int64_t entries;
    int32_t piece, pieces;  // entries per chunk; number of chunks
    int32_t shift;          // position of the digit
};

// The same for few entries, sorted by one block. Lists of entries are `stride` words apart: keys
// and sorted keys, which alternate in each pass, and two lists of entry indices.
struct GroupSmallParams {
    uint32_t *lists;
    int64_t stride;
    int32_t entries, passes;
};

// Replaces counts[i] by the sum of those before it (exclusive scan), and stores the sum of all in
// `total`.
struct RunningSumParams {
    void *counts, *total;
    int64_t count;
};

// first[g]: number of entries whose key is less than g, for g from 0 to `groups`.
struct GroupFirstParams {
    const uint32_t *sorted_keys;
    uint32_t *first;
    int64_t entries, groups;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#include "group_rank.cuh"

#if defined(INFINI_KERNEL_GROUP_COUNT) || defined(INFINI_KERNEL_GROUP_PLACE)
// Shared by the passes of a group sort: kDigits values of a digit, and one warp per chunk.
namespace infini {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kWarps = 4, kThreads = kWarps * kWarp;

INFINI_DEVICE uint32_t digit_of(const GroupParams &p, uint32_t key) {
    return key >> p.shift & (kDigits - 1);
}
INFINI_DEVICE int64_t piece_of_warp() { return int64_t(blockIdx.x) * kWarps + warp(); }

}  // namespace infini
#endif

#ifdef INFINI_KERNEL_GROUP_COUNT
// Counts how often each digit occurs in each chunk.
using namespace infini;

INFINI_ENTRY(GroupParams, kThreads, 1) {
    INFINI_SHARED uint32_t counts[kWarps][kDigits];
    uint32_t *mine = counts[warp()];
    for (int i = lane(); i < kDigits; i += kWarp) mine[i] = 0;
    sync_warp();
    const int64_t piece = piece_of_warp(), begin = piece * p.piece;
    int64_t end = begin + p.piece;
    end = end < p.entries ? end : p.entries;
#pragma unroll 8
    for (int64_t i = begin + lane(); i < end; i += kWarp)
        atomicAdd(&mine[digit_of(p, p.keys[i])], 1u);
    sync_warp();
    if (piece >= p.pieces) return;
    for (int i = lane(); i < kDigits; i += kWarp) p.counts[int64_t(i) * p.pieces + piece] = mine[i];
}
#endif

#ifdef INFINI_KERNEL_GROUP_SUMS
#include "scan/block_scan.cuh"

// Replaces the counts of a digit, one block each, by the sums over the chunks before.
using namespace infini;

INFINI_ENTRY(GroupParams, 256, 1) {
    constexpr int kThreads = 256, kEach = 8;
    uint32_t *counts = p.counts + int64_t(blockIdx.x) * p.pieces;
    uint32_t carry = 0;
    for (int base = 0; base < p.pieces; base += kThreads * kEach) {
        const int first = base + int(threadIdx.x) * kEach;
        uint32_t value[kEach], mine = 0, all;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            value[i] = first + i < p.pieces ? counts[first + i] : 0;
            mine += value[i];
        }
        uint32_t before = carry + scan_block<kThreads>(mine, 0u, fold::Sum(), &all);
        carry += all;
#pragma unroll
        for (int i = 0; i < kEach; ++i) {
            if (first + i < p.pieces) counts[first + i] = before;
            before += value[i];
        }
    }
    if (threadIdx.x == 0) p.totals[blockIdx.x] = carry;
}
#endif

#ifdef INFINI_KERNEL_GROUP_FIRST
// Finds where the entries of each group begin in the sorted order.
using namespace infini;

INFINI_ENTRY(GroupFirstParams, 256, 1) {
    const int64_t group = grid_thread();
    if (group > p.groups) return;
    int64_t low = 0, high = p.entries;  // the answer is in [low, high]
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p.sorted_keys[middle] < group)
            low = middle + 1;
        else
            high = middle;
    }
    p.first[group] = uint32_t(low);
}
#endif

#ifdef INFINI_KERNEL_GROUP_PLACE
#include "scan/block_scan.cuh"

// Sorts the entries of each chunk by digit, stably.
namespace infini {

constexpr int kRows = 8;  // rows of lanes whose loads are in flight at a time

// Where each digit begins in the output.
INFINI_DEVICE void find_starts(const GroupParams &p, uint32_t (&starts)[kDigits]) {
    constexpr int kEach = kDigits / kThreads;
    const int first = int(threadIdx.x) * kEach;
    uint32_t value[kEach], mine = 0, all;
#pragma unroll
    for (int i = 0; i < kEach; ++i) mine += value[i] = p.totals[first + i];
    uint32_t before = scan_block<kThreads>(mine, 0u, fold::Sum(), &all);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
        starts[first + i] = before;
        before += value[i];
    }
    __syncthreads();
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(GroupParams, kThreads, 1) {
    INFINI_SHARED uint32_t next[kWarps][kDigits], starts[kDigits];
    find_starts(p, starts);
    const int64_t piece = piece_of_warp(), begin = piece * p.piece;
    if (piece >= p.pieces) return;
    uint32_t *mine = next[warp()];
    for (int i = lane(); i < kDigits; i += kWarp)
        mine[i] = starts[i] + p.counts[int64_t(i) * p.pieces + piece];
    sync_warp();
    int64_t end = begin + p.piece;
    end = end < p.entries ? end : p.entries;
#pragma unroll 1
    for (int64_t base = begin + lane(); base - lane() < end; base += kRows * kWarp) {
        uint32_t keys[kRows], order[kRows], places[kRows];
#pragma unroll
        for (int k = 0; k < kRows; ++k) {
            const int64_t i = base + k * kWarp;
            // Entries past the end are ranked after all others, and not written.
            keys[k] = i < end ? p.keys[i] : ~0u;
            order[k] = p.order && i < end ? p.order[i] : uint32_t(i);
        }
        rank_rows<kDigitBits>(keys, p.shift, mine, places);
#pragma unroll
        for (int k = 0; k < kRows; ++k) {
            if (base + k * kWarp >= end) continue;
            p.sorted_keys[places[k]] = keys[k];
            p.sorted_order[places[k]] = order[k];
        }
    }
}
#endif

#ifdef INFINI_KERNEL_GROUP_SMALL
// Stably sorts few entries in one block: every warp has a chunk of them.
namespace infini {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kThreads = 512, kWarps = kThreads / kWarp;

// Replaces next[w][d], the number of digits d in the chunk of warp w, by the position of the first
// one in the output.
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
        sync_warp();
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
            sync_warp();
            if (here && rank.before == 0) mine[digit] += rank.equal;
            sync_warp();
            if (here) {
                sorted_keys[to] = key;
                sorted_order[to] = pass ? order[i] : uint32_t(i);
            }
        }
        __syncthreads();  // makes the writes visible
    }
}
#endif

#endif  // INFINI_DEVICE
