// Rows that are read again in each pass: long ones, and columns. Their elements may be split over
// blocks (blockIdx.y): then each launch does one pass and stores partial folds, which the next
// launches combine first.
#pragma once

#include "lanes.cuh"

namespace infini {

struct LoopRun {
    const Params &p;
    const int64_t row;
    const Place base;
    const bool here;
    Rows rows;

    INFINI_DEVICE LoopRun(const Params &p, int64_t row, const Place &base, bool here)
        : p(p), row(row), base(base), here(here) {}

    // Vectors along rows, elements across them.
    static constexpr int kStep = kAcross ? 1 : kVec;

    template <class Pass>
    INFINI_DEVICE void pass() {
        typename Pass::Folds folds;
        folds.start();
        const int64_t begin = int64_t(blockIdx.y) * p.part + my_lane();
        int64_t end = int64_t(blockIdx.y + 1) * p.part;
        end = end < p.row_size / kStep ? end : p.row_size / kStep;
        if (here) {
            int64_t at = begin;
            for (; at + (kUnroll - 1) * kLanes < end; at += kUnroll * kLanes) {
                In<kVec> in[kUnroll];
#pragma unroll
                for (int u = 0; u < kUnroll; ++u)
                    Pass::fetch(p, locate(p, base, element(at + u * kLanes)), in[u]);
#pragma unroll
                for (int u = 0; u < kUnroll; ++u) use<Pass>(at + u * kLanes, in[u], folds);
            }
#pragma unroll 1
            for (; kUnroll > 1 && at < end; at += kLanes) {
                In<kVec> in;
                Pass::fetch(p, locate(p, base, element(at)), in);
                use<Pass>(at, in, folds);
            }
        }
        if constexpr (Pass::kFolds) join_lanes(folds);
        if constexpr (kSplit) {
            if (Pass::kFolds && here && my_lane() == 0) folds.save(p, partial(blockIdx.y));
        } else {
            Pass::finish(p, base, rows, folds, here && my_lane() == 0);
        }
    }
    // The folds of an earlier launch.
    template <class Pass>
    INFINI_DEVICE void join(bool writes) {
        typename Pass::Folds folds;
        folds.start();
        if (here) {
            for (int split = my_lane(); split < p.splits; split += kLanes) {
                typename Pass::Folds part;
                part.load(p, partial(split));
                folds.join(part);
            }
        }
        if constexpr (Pass::kFolds) join_lanes(folds);
        Pass::finish(p, base, rows, folds, writes && here && my_lane() == 0);
    }

private:
    INFINI_DEVICE static Index element(int64_t at) { return Index(at * kStep); }
    INFINI_DEVICE int64_t partial(int split) const { return split * p.rows + row; }
    template <class Pass>
    INFINI_DEVICE void use(int64_t at, const In<kVec> &in, typename Pass::Folds &folds) {
        Held<kVec> held;
        Pass::body(p, locate(p, base, element(at)), element(at), in, held, rows, folds);
    }
};

INFINI_ENTRY(Params, kThreads, 1) {
    constexpr int kGroups = kThreads / kLanes;
    const int64_t row = (int64_t(blockIdx.x) * kGroups + my_group()) * kRowWidth;
    const bool here = row < p.rows;
    LoopRun run(p, row, begin(p, Index(here ? row : 0)), here);
    before(p, run.base, run.rows, kWrites && here && my_lane() == 0);
    passes(run);
}

}  // namespace infini
