// The order of the lanes of a warp that have equal digits.
#pragma once

namespace infini {

struct Rank {
    int before, equal;  // lanes with the same digit: those before this one, and all
};

// The lanes that have this bit of their digits, where this lane has it, else those that do not.
INFINI_DEVICE Lanes lanes_alike(uint32_t digit, uint32_t bit) {
#if defined(INFINI_SIMULATED) || INFINI_WARP != 32
    const bool set = digit & bit;
    const Lanes found = vote(set);
    return set ? found : ~found;
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

// The lanes that have the same digit of so many bits.
template <int bits>
INFINI_DEVICE Lanes lanes_with(uint32_t digit) {
    Lanes same = lanes_alike(digit, 1u);
#pragma unroll
    for (int i = 1; i < bits; ++i) same &= lanes_alike(digit, 1u << i);
    return same;
}

// Called by all lanes; those that are not `here` have no digit. Digits have `bits` bits.
template <int bits>
INFINI_DEVICE Rank rank_of(uint32_t digit, bool here) {
    Lanes same = vote(here);
#pragma unroll
    for (int i = 0; i < bits; ++i) same &= lanes_alike(digit, 1u << i);
    return {count_lanes(same & lanes_before()), count_lanes(same)};
}

// The ranks of a warp's keys among those with the same digit: rows of lanes, one after the other.
// `counts` are the warp's own, of the digits, and count these keys besides. (Atomic additions, which
// need no barriers between the rows, take longer.)
template <int bits, int n, class Key>
INFINI_DEVICE void rank_rows(const Key (&keys)[n], int shift, uint32_t *counts,
                             uint32_t (&ranks)[n]) {
#pragma unroll
    for (int k = 0; k < n; ++k) {
        const uint32_t digit = uint32_t(keys[k] >> shift) & ((1u << bits) - 1);
        const Lanes same = lanes_with<bits>(digit);
        const uint32_t before = uint32_t(count_lanes(same & lanes_before()));
        const uint32_t seen = counts[digit];
        __syncwarp();
        if (before == 0) counts[digit] = seen + uint32_t(count_lanes(same));
        __syncwarp();
        ranks[k] = seen + before;
    }
}

}  // namespace infini
