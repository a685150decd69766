// Rows held in registers: memory is read once. A row is processed by kLanes threads with kChunks
// vectors each; the loads of the first pass are all issued before one is used. kFull: the vectors
// cover the row exactly. kAhead: loads of all passes are issued first, because few rows cannot hide
// the latency of memory.
#pragma once

#include "lanes.cuh"

namespace infini {

struct HeldRun {
    const Params &p;
    const Place base;
    const bool here;
    const int size;  // 0: there is no such row
    Rows rows;
    In<kVec> in[kChunks];
    Held<kVec> held[kChunks];

    INFINI_DEVICE HeldRun(const Params &p, const Place &base, bool here)
        : p(p), base(base), here(here), size(here ? int(p.row_size) : 0) {}

    template <class Pass>
    INFINI_DEVICE void fetch() {
#pragma unroll
        for (int k = 0; k < kChunks; ++k)
            if (mine(k)) Pass::fetch(p, locate(p, base, element(k)), in[k]);
    }
    template <class Pass>
    INFINI_DEVICE void pass() {
        typename Pass::Folds folds;
        folds.start();
        if constexpr (Pass::kFirst) fetch<Pass>();
#pragma unroll
        for (int k = 0; k < kChunks; ++k) {
            if (!mine(k)) continue;
            const Place at = locate(p, base, element(k));
            // Later passes read data shared by all rows from a cache, without keeping it in
            // registers.
            if constexpr (!Pass::kFirst && !kAhead) Pass::fetch(p, at, in[k]);
            Pass::body(p, at, element(k), in[k], held[k], rows, folds);
        }
        if constexpr (Pass::kFolds) join_lanes(folds);
        Pass::finish(p, base, rows, folds, here && my_lane() == 0);
    }
    INFINI_DEVICE Index element(int k) const { return Index(k * kLanes + my_lane()) * kVec; }
    INFINI_DEVICE bool mine(int k) const {
        if constexpr (kFull) return kLanes == kThreads || here;
        return int(element(k)) < size;
    }
};

INFINI_ENTRY(Params, kThreads, kMinBlocks) {
    constexpr int kGroups = kThreads / kLanes;
    const int64_t row = int64_t(blockIdx.x) * kGroups + my_group();
    const bool here = row < p.rows;
    HeldRun run(p, begin(p, Index(here ? row : 0)), here);
    before(p, run.base, run.rows, here && my_lane() == 0);
    passes(run);
}

}  // namespace infini
