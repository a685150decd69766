// Which elements count: those of M (of 1 to 16 bytes) that have one of certain bits.
#pragma once

#include "select_params.h"

namespace infini {

constexpr int kThreads = 256, kRounds = 16, kPiece = kThreads * kRounds;

template <class Element>
INFINI_DEVICE bool has_bits(const SelectParams &p, const Element &element) {
    if constexpr (sizeof(Element) == 16)
        return ((element.low & p.low) | (element.high & p.high)) != 0;
    else
        return (element & Element(p.low)) != 0;
}

INFINI_DEVICE bool counts(const SelectParams &p, int64_t offset) {
    return has_bits(p, static_cast<const M *>(p.tested)[offset]);
}

}  // namespace infini
