// Sorting digit by digit: a tile is what a block takes. A pass whose digit is the same in all keys of
// a line has nothing to do there. The first one that has reads elements, later ones entries.
#pragma once

#include "keys.cuh"
#include "scan/block_scan.cuh"

namespace infini {

inline constexpr int kDigitBits = kKeyBits < 8 ? kKeyBits : 8, kDigits = 256;
inline constexpr int kPasses = (kKeyBits + 7) / 8;

INFINI_DEVICE uint32_t digit_of(Key key, int pass) { return uint32_t(key >> pass * 8) & 255; }

}  // namespace infini
