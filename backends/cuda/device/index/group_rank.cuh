// The order of the lanes of a warp that have equal digits.
#pragma once

namespace infini {

struct Rank {
    int before, equal;  // lanes with the same digit: those before this one, and all
};

// The lanes that have this bit of their digits, where this lane has it, else those that do not.
INFINI_DEVICE auto lanes_alike(uint32_t digit, uint32_t bit) {
#if defined(INFINI_SIMULATED) || INFINI_WARP != 32
    const bool set = digit & bit;
    const auto vote = __ballot_sync(kAllLanes, set);
    return set ? vote : ~vote;
#else
    uint32_t lanes;  // The compiler would test the bit twice.
    asm volatile(
        "{ .reg .pred set; .reg .b32 masked; and.b32 masked, %1, %2; setp.ne.u32 set, masked, 0;"
        "vote.sync.ballot.b32 %0, set, 0xffffffff; @!set not.b32 %0, %0; }"
        : "=r"(lanes)
        : "r"(digit), "r"(bit));
    return lanes;
#endif
}

// Called by all lanes; those that are not `here` have no digit. Digits have `bits` bits.
template <int bits>
INFINI_DEVICE Rank rank_of(uint32_t digit, bool here) {
    auto same = __ballot_sync(kAllLanes, here);
#pragma unroll
    for (int i = 0; i < bits; ++i) same &= lanes_alike(digit, 1u << i);
    return {__popc(same & ((decltype(same)(1) << lane()) - 1)), __popc(same)};
}

}  // namespace infini
