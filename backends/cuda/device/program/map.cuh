// Maps: every element on its own. The text before this gives locate(), and Pass0 with fetch() and
// body().
//
// A block takes kUnroll vectors for each of its threads; all are on their way before the first is
// used.
#pragma once

namespace infini {

struct MapRun {
    const Params &p;

    template <int n>
    INFINI_DEVICE void one(Index element) const {
        const Place at = locate(p, element);
        In<n> in;
        Pass0::fetch(p, at, in);
        finish(at, element, in);
    }
    template <int n>
    INFINI_DEVICE void finish(const Place &at, Index element, const In<n> &in) const {
        Held<n> held;
        const Rows rows{};
        Pass0::Folds folds;
        Pass0::body(p, at, element, in, held, rows, folds);
    }
};

INFINI_ENTRY(Params, kThreads, 1) {
    constexpr int kBlock = kThreads * kUnroll;  // vectors
    const MapRun run{p};
    const int64_t first = int64_t(blockIdx.x) * kBlock;
    if (kVec == 1 || p.wide) {
        const int64_t vectors = p.count / kVec;
        if (first + kBlock <= vectors) {
            Place at[kUnroll];
            In<kVec> in[kUnroll];
#pragma unroll
            for (int u = 0; u < kUnroll; ++u) {
                at[u] = locate(p, Index((first + u * kThreads + int(threadIdx.x)) * kVec));
                Pass0::fetch(p, at[u], in[u]);
            }
#pragma unroll
            for (int u = 0; u < kUnroll; ++u)
                run.finish(at[u], Index((first + u * kThreads + int(threadIdx.x)) * kVec), in[u]);
        } else {  // the last block
#pragma unroll 1
            for (int64_t i = first + int(threadIdx.x); i < vectors; i += kThreads)
                run.one<kVec>(Index(i * kVec));
        }
        // What does not fill a vector.
        const int64_t rest = vectors * kVec + int(threadIdx.x);
        if (kVec > 1 && blockIdx.x == 0 && rest < p.count) run.one<1>(Index(rest));
    } else {
        for (int i = int(threadIdx.x); i < kBlock * kVec; i += kThreads) {
            const int64_t element = first * kVec + i;
            if (element < p.count) run.one<1>(Index(element));
        }
    }
}

}  // namespace infini
