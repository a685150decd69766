// moe_align by one block: every warp has a part of the pairs, and counts for it how many go to each
// group.
#include "align_params.h"
#include "index/group_rank.cuh"

namespace infini {

constexpr int kThreads = 512, kWarps = kThreads / kWarp;
constexpr int kGroupBits = 9, kGroups = 1 << kGroupBits;  // as many as there are threads

// 0 for id -1, then the experts as a map says; -1 for pairs that are left out.
INFINI_DEVICE int group_of(const AlignSmallParams &p, int pair) {
    int id = p.ids[pair];
    if (id < -1 || id >= p.experts) return -1;
    if (id >= 0 && p.map) {
        id = p.map[id];
        if (id < 0 || id >= p.experts) return -1;
    }
    return id + 1;
}

// Calls body(pair, group, rank) for a warp's pairs, 32 at a time; those that are left out have a
// group of -1.
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
        __syncwarp();
    });
    __syncthreads();

    // Where the parts of each group begin in it, and where the groups begin.
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
        __syncwarp();
        if (g >= 0 && rank.before == 0) mine[g] = uint16_t(mine[g] + rank.equal);
        __syncwarp();
    });
}
