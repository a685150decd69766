// Rows that registers hold: memory is read once. A row belongs to kLanes threads, which have kChunks vectors
// each; the vectors of a pass are all on their way before the first is used.
#pragma once

#include "lanes.cuh"

namespace infini {

struct HeldRun {
    const Params &p;
    const Place base;
    const bool here;
    Rows rows;
    In<kVec> in[kChunks];
    Held<kVec> held[kChunks];

    INFINI_DEVICE HeldRun(const Params &p, const Place &base, bool here)
        : p(p), base(base), here(here) {}

    template <class Pass>
    INFINI_DEVICE void pass() {
        typename Pass::Folds folds;
        folds.start();
#pragma unroll
        for (int k = 0; k < kChunks; ++k)
            if (mine(k)) Pass::fetch(p, locate(p, base, element(k)), in[k]);
#pragma unroll
        for (int k = 0; k < kChunks; ++k)
            if (mine(k))
                Pass::body(p, locate(p, base, element(k)), element(k), in[k], held[k], rows, folds);
        if constexpr (Pass::kFolds) join_lanes(folds);
        Pass::finish(p, base, rows, folds, here && my_lane() == 0);
    }
    INFINI_DEVICE Index element(int k) const { return Index(k * kLanes + my_lane()) * kVec; }
    INFINI_DEVICE bool mine(int k) const { return here && element(k) < p.row_size; }
};

INFINI_ENTRY(Params, kThreads, 1) {
    constexpr int kGroups = kThreads / kLanes;
    const int64_t row = int64_t(blockIdx.x) * kGroups + my_group();
    const bool here = row < p.rows;
    HeldRun run(p, begin(p, Index(here ? row : 0)), here);
    before(p, run.base, run.rows, here && my_lane() == 0);
    passes(run);
}

}  // namespace infini
