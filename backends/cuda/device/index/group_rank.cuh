// The order of the lanes of a warp that have equal digits.
#pragma once

namespace infini {

struct Rank {
    int before, equal;  // lanes with the same digit: those before this one, and all
};

// Called by all lanes; those that are not `here` have no digit. Digits have `bits` bits.
template <int bits>
INFINI_DEVICE Rank rank_of(uint32_t digit, bool here) {
    auto same = __ballot_sync(kAllLanes, here);
#pragma unroll
    for (int bit = 0; bit < bits; ++bit) {
        const bool set = digit >> bit & 1;
        const auto vote = __ballot_sync(kAllLanes, set);
        same &= set ? vote : ~vote;
    }
    return {__popc(same & ((decltype(same)(1) << lane()) - 1)), __popc(same)};
}

}  // namespace infini
