// What a pass over the entries of a group sort shares: kDigits values of a digit, and a warp for
// each piece.
#pragma once

#include "group_params.h"

namespace infini {

constexpr int kDigitBits = 8, kDigits = 1 << kDigitBits, kWarps = 4, kThreads = kWarps * kWarp;

INFINI_DEVICE uint32_t digit_of(const GroupParams &p, uint32_t key) {
    return key >> p.shift & (kDigits - 1);
}
INFINI_DEVICE int64_t piece_of_warp() { return int64_t(blockIdx.x) * kWarps + warp(); }

}  // namespace infini
