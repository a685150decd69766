// Sorts pairs by their expert: counts, then starts, then places. The order inside an expert is left
// to chance, and nothing depends on it: a row's results are its own. The host gives kPhase: 0, all
// by one block; else a part of it: 1 and 3 by many blocks, 2 by one. What comes before 1 is then
// for kPhase 4.
#include "experts_params.h"
#include "prelude.cuh"

namespace infini {

constexpr int kThreads = 512;

INFINI_DEVICE int expert_of(const SortPairsParams &p, int pair) {
    int id = p.ids ? p.ids[pair] : -1;
    if (p.sorted) id = p.place[pair] < 0 ? -1 : p.labels[p.place[pair] / p.labelled];
    return id >= 0 && id < p.experts ? id : -1;
}

// Where each pair stands; of several positions the last counts. `place` is -1 everywhere before.
INFINI_DEVICE void find_places(const SortPairsParams &p) {
    int used = *p.used;
    used = used < 0 ? 0 : used < p.positions ? used : p.positions;
    for (int64_t i = grid_thread(); i < used; i += grid_threads()) {
        const int pair = p.sorted[i];
        if (pair >= 0 && pair < p.pairs) atomicMax(p.place + pair, int(i));
    }
}

// The sum of the values of all threads before this one; `total` of all. Called by all.
INFINI_DEVICE int scan_block(int value, int &total) {
    INFINI_SHARED int sums[kThreads / kWarp];
    int inclusive = value;
#pragma unroll
    for (int step = 1; step < kWarp; step *= 2) {
        const int other = shuffle_up(inclusive, step);
        if (lane() >= step) inclusive += other;
    }
    __syncthreads();  // the last sums have been read
    if (lane() == kWarp - 1) sums[warp()] = inclusive;
    __syncthreads();
    int before = 0;
    total = 0;
    for (int i = 0; i < kThreads / kWarp; ++i) {
        before += i < warp() ? sums[i] : 0;
        total += sums[i];
    }
    return before + inclusive - value;
}

}  // namespace infini

INFINI_ENTRY(infini::SortPairsParams, infini::kThreads, 1) {
    using namespace infini;
    const int first = int(grid_thread()), step = int(grid_threads());
    if constexpr (kPhase == 0) {
        for (int i = first; i < p.experts; i += step) p.cursors[i] = 0;
        if (p.sorted)
            for (int i = first; i < p.pairs; i += step) p.place[i] = -1;
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 4) {
        if (p.sorted) find_places(p);
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 1) {
        for (int i = first; i < p.pairs; i += step) {
            const int expert = expert_of(p, i);
            if (expert >= 0) atomicAdd(p.cursors + expert, 1);
        }
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 2) {
        int rows = 0, tiles = 0;
        for (int base = 0; base < p.experts; base += kThreads) {
            const int expert = base + int(threadIdx.x);
            const int count = expert < p.experts ? p.cursors[expert] : 0;
            int some_rows, some_tiles;
            const int row = rows + scan_block(count, some_rows);
            const int tile = tiles + scan_block((count + p.tile - 1) / p.tile, some_tiles);
            rows += some_rows, tiles += some_tiles;
            if (expert < p.experts) {
                p.starts[expert] = row, p.tiles[expert] = tile;
                p.cursors[expert] = row;
            }
        }
        if (threadIdx.x == 0) p.starts[p.experts] = rows, p.tiles[p.experts] = tiles;
        __syncthreads();
    }
    if constexpr (kPhase == 0 || kPhase == 3) {
        for (int i = first; i < p.pairs; i += step) {
            const int expert = expert_of(p, i);
            const int row = expert < 0 ? -1 : atomicAdd(p.cursors + expert, 1);
            p.rows[i] = row;
            if (row >= 0) p.order[row] = i;
        }
    }
}
