// Elementwise maps. The generated text before this file defines locate(), and Pass0 with fetch()
// and body().
//
// Each thread of a block processes kUnroll vectors; all are loaded before the first is used.
#pragma once

namespace infini {

struct MapRun {
    const Params &p;

    INFINI_DEVICE void one(Index element) const {
        const Place at = locate(p, element);
        In<1> in;
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
    // Single elements: those that do not fill a vector, or all elements of the block.
    int64_t element, end = p.count;
    if (kVec == 1 || p.wide) {
        const int64_t vectors = p.count / kVec;
        auto number = [&](int u) { return first + u * kThreads + int(threadIdx.x); };
        Place at[kUnroll];
        In<kVec> in[kUnroll];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
            if (number(u) >= vectors) continue;
            at[u] = locate(p, Index(number(u) * kVec));
            Pass0::fetch(p, at[u], in[u]);
        }
#pragma unroll
        for (int u = 0; u < kUnroll; ++u)
            if (number(u) < vectors) run.finish(at[u], Index(number(u) * kVec), in[u]);
        if (kVec == 1 || blockIdx.x > 0) return;
        element = vectors * kVec;
    } else {
        element = first * kVec;
        if (element + kBlock * kVec < end) end = element + kBlock * kVec;
    }
#pragma unroll 1
    for (element += int(threadIdx.x); element < end; element += kThreads) run.one(Index(element));
}

}  // namespace infini
