// Puts the entries of each piece in the order of their digits; those of one digit keep their order.
#include "group_digit.cuh"
#include "group_rank.cuh"

using namespace infini;

INFINI_ENTRY(GroupParams, kThreads, 1) {
    INFINI_SHARED uint32_t next[kWarps][kDigits];
    const int64_t piece = piece_of_warp(), begin = piece * p.piece;
    if (piece >= p.pieces) return;
    uint32_t *mine = next[warp()];
    for (int i = lane(); i < kDigits; i += kWarp) mine[i] = p.counts[int64_t(i) * p.pieces + piece];
    __syncwarp();
    int64_t end = begin + p.piece;
    end = end < p.entries ? end : p.entries;
    for (int64_t base = begin; base < end; base += kWarp) {
        const int64_t i = base + lane();
        const bool here = i < end;
        const uint32_t key = here ? p.keys[i] : 0, digit = digit_of(p, key);
        const Rank rank = rank_of<kDigitBits>(digit, here);
        uint32_t to = 0;
        if (here) to = mine[digit] + rank.before;
        __syncwarp();
        if (here && rank.before == 0) mine[digit] += rank.equal;
        __syncwarp();
        if (here) {
            p.sorted_keys[to] = key;
            p.sorted_order[to] = p.order ? p.order[i] : uint32_t(i);
        }
    }
}
