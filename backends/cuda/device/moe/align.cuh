// moe_align and prepare_moe_input: (token, choice) pairs, grouped by expert.
#pragma once

#include "divide.h"

namespace infini {

struct AlignKeysParams {
    const int32_t *ids, *map;
    uint32_t *keys;
    int64_t pairs, experts;
};

struct AlignParams {
    const uint32_t *first, *order;  // the pairs of each group, grouped
    uint32_t *starts;               // starts of the groups' blocks; before: their lengths
    const uint32_t *total;
    int32_t *sorted, *labels;
    int64_t pairs, groups, block, capacity, blocks;
};

// moe_align for few pairs, by one block.
struct AlignSmallParams {
    const int32_t *ids, *map;
    int32_t *sorted, *labels, *total;
    int32_t pairs, experts, capacity, blocks;
    Divider block;
};

struct PrepareParams {
    const uint32_t *first, *order;
    int32_t *offsets, *scales, *sizes1, *sizes2, *token, *place;
    int64_t pairs, experts, n, k;
    Divider choices;
};

struct MoeSumParams {
    void *y;
    const void *x;
    int64_t tokens, choices, vectors;  // vectors per token
    int64_t y_token, y_step, x_token, x_choice, x_step;
    int32_t whole;
};

}  // namespace infini

#ifdef INFINI_DEVICE  // device code

#ifdef INFINI_KERNEL_ALIGN_ALIGN
// The pair and the expert of each position in the blocks.
namespace infini {

// The group that contains a position below the total: the last one that begins at or before it.
INFINI_DEVICE int64_t group_at(const AlignParams &p, int64_t place) {
    int64_t low = 0, high = p.groups;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (p.starts[middle] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(AlignParams, 256, 1) {
    const int64_t i = grid_thread(), total = *p.total;
    if (i < p.capacity) {
        int64_t pair = p.pairs;
        if (i < total) {
            const int64_t group = group_at(p, i), at = p.first[group] + (i - p.starts[group]);
            if (at < p.first[group + 1]) pair = p.order[at];
        }
        p.sorted[i] = int32_t(pair);
    }
    if (i < p.blocks)
        p.labels[i] = i * p.block < total ? int32_t(group_at(p, i * p.block) - 1) : -1;
}
#endif

#ifdef INFINI_KERNEL_ALIGN_KEYS
// The group of each pair. kPadded: 0 for id -1, then the experts as mapped; otherwise the experts.
// Pairs that are left out have the index after the last group.
using namespace infini;

INFINI_ENTRY(AlignKeysParams, 256, 1) {
    const int64_t i = grid_thread();
    if (i >= p.pairs) return;
    int64_t id = p.ids[i];
    bool known = id >= 0 && id < p.experts;
    if (kPadded && known && p.map) {
        id = p.map[id];
        known = id >= 0 && id < p.experts;
    } else if (kPadded && id == -1) {
        known = true;
    }
    const int64_t groups = p.experts + kPadded;
    p.keys[i] = uint32_t(known ? id + kPadded : groups);
}
#endif

#ifdef INFINI_KERNEL_ALIGN_SIZES
// The lengths of the groups, rounded up to whole blocks.
using namespace infini;

INFINI_ENTRY(AlignParams, 256, 1) {
    const int64_t group = grid_thread();
    if (group >= p.groups) return;
    const uint32_t count = p.first[group + 1] - p.first[group];
    p.starts[group] = uint32_t((count + p.block - 1) / p.block * p.block);
}
#endif

#ifdef INFINI_KERNEL_ALIGN_SMALL
#include "index/group_rank.cuh"

// moe_align by one block: every warp has a chunk of the pairs, and counts how many of them are in
// each group.
namespace infini {

constexpr int kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kGroupBits = 9, kGroups = 1 << kGroupBits;  // the number of threads

// 0 for id -1, then the experts as mapped; -1 for pairs that are left out.
INFINI_DEVICE int group_of(const AlignSmallParams &p, int pair) {
    int id = p.ids[pair];
    if (id < -1 || id >= p.experts) return -1;
    if (id >= 0 && p.map) {
        id = p.map[id];
        if (id < 0 || id >= p.experts) return -1;
    }
    return id + 1;
}

// Calls body(pair, group, rank) for a warp's pairs, 32 at a time; the group of pairs that are left
// out is -1.
template <class Body>
INFINI_DEVICE void each_pair(const AlignSmallParams &p, const Body &body) {
    const int part = (p.pairs + kThreads - 1) / kThreads * kWarp;
    const int begin = warp() * part, end = begin + part < p.pairs ? begin + part : p.pairs;
    for (int base = begin; base < end; base += kWarp) {
        const int pair = base + lane(), group = pair < end ? group_of(p, pair) : -1;
        body(pair, group, rank_of<kGroupBits>(uint32_t(group), group >= 0));
    }
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(AlignSmallParams, kThreads, 1) {
    INFINI_SHARED uint16_t next[kWarps][kGroups];
    INFINI_SHARED int starts[kGroups + 1], sums[kWarps];
    const int group = int(threadIdx.x), block = int(p.block.divisor);
    for (int w = 0; w < kWarps; ++w) next[w][group] = 0;
    __syncthreads();
    uint16_t *mine = next[warp()];
    each_pair(p, [&](int, int g, Rank rank) {
        if (g >= 0 && rank.before == 0) mine[g] = uint16_t(mine[g] + rank.equal);
        sync_warp();
    });
    __syncthreads();

    // Where each warp's pairs of each group begin in it, and where the groups begin.
    int count = 0;
    for (int w = 0; w < kWarps; ++w) {
        const int here = next[w][group];
        next[w][group] = uint16_t(count);
        count += here;
    }
    const int size = int(p.block.divide(uint32_t(count + block - 1))) * block;
    int upto = size;
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2) {
        const int other = shuffle_up(upto, distance);
        if (lane() >= distance) upto += other;
    }
    if (lane() == kWarp - 1) sums[warp()] = upto;
    __syncthreads();
    int start = upto - size;
    for (int w = 0; w < warp(); ++w) start += sums[w];
    starts[group] = start;
    if (group == kGroups - 1) {
        starts[kGroups] = start + size;
        *p.total = start + size;
    }
    for (int at = start; at < start + size; at += block)
        p.labels[p.block.divide(uint32_t(at))] = group - 1;
    for (int i = int(threadIdx.x); i < p.capacity; i += kThreads) p.sorted[i] = p.pairs;
    __syncthreads();
    for (int i = int(p.block.divide(uint32_t(starts[kGroups]))) + int(threadIdx.x); i < p.blocks;
         i += kThreads)
        p.labels[i] = -1;
    each_pair(p, [&](int pair, int g, Rank rank) {
        if (g >= 0) p.sorted[starts[g] + mine[g] + rank.before] = pair;
        sync_warp();
        if (g >= 0 && rank.before == 0) mine[g] = uint16_t(mine[g] + rank.equal);
        sync_warp();
    });
}
#endif

#ifdef INFINI_KERNEL_ALIGN_PREPARE
// Offsets, problem sizes and permutations for grouped products.
using namespace infini;

INFINI_ENTRY(PrepareParams, 256, 1) {
    const int64_t i = grid_thread();
    const uint32_t all = p.first[p.experts];  // pairs with an expert
    if (i <= p.experts) p.offsets[i] = int32_t(p.first[i]);
    if (i < p.experts) {
        const uint32_t count = p.first[i + 1] - p.first[i];
        if (p.scales) p.scales[i] = int32_t((count + 127) / 128 * 128);
        int32_t *first = p.sizes1 + 3 * i, *second = p.sizes2 + 3 * i;
        first[0] = int32_t(count), first[1] = int32_t(2 * p.n), first[2] = int32_t(p.k);
        second[0] = int32_t(count), second[1] = int32_t(p.k), second[2] = int32_t(p.n);
    }
    if (i < p.pairs) {
        const uint32_t pair = p.order[i];
        p.token[i] = i < all ? int32_t(p.choices.divide(pair)) : 0;
        p.place[pair] = i < all ? int32_t(i) : 0;
    }
}
#endif

#ifdef INFINI_KERNEL_ALIGN_SUM
#include "words.cuh"

// The sum of the rows of a token's experts, in vectors of kVector T.
using namespace infini;

INFINI_ENTRY(MoeSumParams, 256, 1) {
    const int64_t at = grid_thread();
    if (at >= p.vectors) return;
    for (int64_t token = blockIdx.y; token < p.tokens; token += gridDim.y) {
        const T *x = static_cast<const T *>(p.x) + token * p.x_token + at * p.x_step;
        float sum[kVector] = {};
#pragma unroll 4
        for (int64_t k = 0; k < p.choices; ++k) {
            float row[kVector];
            widen(load_some<kVector>(x + k * p.x_choice, p.whole), row);
#pragma unroll
            for (int i = 0; i < kVector; ++i) sum[i] += row[i];
        }
        store_some<kVector>(static_cast<T *>(p.y) + token * p.y_token + at * p.y_step,
                            narrow<T>(sum), p.whole);
    }
}
#endif

#endif  // INFINI_DEVICE
