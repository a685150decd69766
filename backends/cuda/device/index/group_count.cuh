// How often each digit occurs in each piece.
#include "group_digit.cuh"

using namespace infini;

INFINI_ENTRY(GroupParams, kThreads, 1) {
    INFINI_SHARED uint32_t counts[kWarps][kDigits];
    uint32_t *mine = counts[warp()];
    for (int i = lane(); i < kDigits; i += kWarp) mine[i] = 0;
    __syncwarp();
    const int64_t piece = piece_of_warp(), begin = piece * p.piece;
    int64_t end = begin + p.piece;
    end = end < p.entries ? end : p.entries;
    for (int64_t i = begin + lane(); i < end; i += kWarp)
        atomicAdd(&mine[digit_of(p, p.keys[i])], 1u);
    __syncwarp();
    if (piece >= p.pieces) return;
    for (int i = lane(); i < kDigits; i += kWarp) p.counts[int64_t(i) * p.pieces + piece] = mine[i];
}
