// Along rows: kRowThreads threads take a piece of a row. Whole vectors are folded, and only the
// best one is searched in the end. kGeneral: a row has several strides.
#include "arg.cuh"

namespace infini {

INFINI_DEVICE Best best_of_vectors(const T *row, uint32_t n, uint32_t thread) {
    const uint32_t vectors = n / kV;
    Best best = {worst(), kNowhere};
    if (thread < vectors) {
        best.place = thread;
        Vec<T, kV> held = {};  // the best one so far
        uint32_t v = thread;
        for (; v + (kAtOnce - 1) * kRowThreads < vectors; v += kAtOnce * kRowThreads) {
            Vec<T, kV> x[kAtOnce];
#pragma unroll
            for (uint32_t i = 0; i < kAtOnce; ++i)
                x[i] = load_once<kV>(row + size_t(v + i * kRowThreads) * kV);
#pragma unroll
            for (uint32_t i = 0; i < kAtOnce; ++i) {
                const C value = best_of(x[i]);
                if (beats(value, best.value)) best = {value, v + i * kRowThreads}, held = x[i];
            }
        }
        for (; v < vectors; v += kRowThreads) {
            const Vec<T, kV> x = load_once<kV>(row + size_t(v) * kV);
            const C value = best_of(x);
            if (beats(value, best.value)) best = {value, v}, held = x;
        }
        uint32_t found = 0;
#pragma unroll
        for (int i = kV - 1; i >= 0; --i)
            if (same(convert<C>(held[i]), best.value)) found = uint32_t(i);
        best.place = best.place * kV + found;
    }
    const uint32_t last = vectors * kV + thread;
    if (last < n) {
        const C value = convert<C>(row[last]);
        if (best.place == kNowhere || beats(value, best.value)) best = {value, last};
    }
    return best;
}

INFINI_DEVICE Best best_of_elements(const ArgParams &p, const T *row, int64_t begin, uint32_t n,
                                    uint32_t thread) {
    Best best = {worst(), kNowhere};
    const int64_t step = p.folded.step();
    if (thread < n) best.place = thread;
    for (uint32_t i = thread; i < n; i += kRowThreads) {
        const int64_t at = kGeneral ? p.folded(begin + i) : (begin + i) * step;
        const C value = convert<C>(row[at]);
        if (beats(value, best.value)) best = {value, i};
    }
    return best;
}

}  // namespace infini

using namespace infini;

INFINI_ENTRY(ArgParams, kBlockThreads, 1) {
    const uint32_t thread = threadIdx.x % kRowThreads;
    const int64_t task = (int64_t(blockIdx.x) * kBlockThreads + threadIdx.x) / kRowThreads;
    if (task >= p.rows * p.pieces) return;  // of whole warps
    const int64_t row = task / p.pieces, piece = task - row * p.pieces;
    const int64_t begin = piece * p.piece;
    const uint32_t n = uint32_t(p.total - begin < p.piece ? p.total - begin : p.piece);
    const T *data = static_cast<const T *>(p.x) + p.from(row);
    Best best;
    if (!kGeneral && p.vector)
        best = best_of_vectors(data + begin, n, thread);
    else
        best = best_of_elements(p, data, begin, n, thread);
    best = best_of_block<kRowThreads>(best);
    if (thread == 0) put(p, row, piece, best.value, begin + best.place);
}
