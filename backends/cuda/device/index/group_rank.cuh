// The rank of each lane among the lanes of a warp with the same digit.
#pragma once

namespace infini {

struct Rank {
    int before, equal;  // lanes with the same digit: those before this one, and all
};

// The lanes whose digit has the same value of one bit as this lane's.
INFINI_DEVICE Lanes lanes_alike(uint32_t digit, uint32_t bit) {
#if INFINI_PTX && INFINI_WARP == 32
    return ptx::match_bit(digit, bit);
#else
    const bool set = digit & bit;
    const Lanes found = vote(set);
    return set ? found : ~found;
#endif
}

// The lanes whose digits are equal in this number of bits.
template <int bits>
INFINI_DEVICE Lanes lanes_with(uint32_t digit) {
    Lanes same = lanes_alike(digit, 1u);
#pragma unroll
    for (int i = 1; i < bits; ++i) same &= lanes_alike(digit, 1u << i);
    return same;
}

// Called by all lanes; lanes that are not `here` have no digit. Digits have `bits` bits.
template <int bits>
INFINI_DEVICE Rank rank_of(uint32_t digit, bool here) {
    Lanes same = vote(here);
#pragma unroll
    for (int i = 0; i < bits; ++i) same &= lanes_alike(digit, 1u << i);
    return {count_lanes(same & lanes_before()), count_lanes(same)};
}

// The ranks of a warp's keys among those with the same digit, for rows of lanes one after the
// other. `counts` are the warp's own, per digit, and are increased by these keys. (Atomic
// additions, which need no barriers between rows, are slower.)
template <int bits, int n, class Key>
INFINI_DEVICE void rank_rows(const Key (&keys)[n], int shift, uint32_t *counts,
                             uint32_t (&ranks)[n]) {
#pragma unroll
    for (int k = 0; k < n; ++k) {
        const uint32_t digit = uint32_t(keys[k] >> shift) & ((1u << bits) - 1);
        const Lanes same = lanes_with<bits>(digit);
        const uint32_t before = uint32_t(count_lanes(same & lanes_before()));
        const uint32_t seen = counts[digit];
        sync_warp();
        if (before == 0) counts[digit] = seen + uint32_t(count_lanes(same));
        sync_warp();
        ranks[k] = seen + before;
    }
}

}  // namespace infini
