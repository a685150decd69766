// The slot of a token, if it is the one that stays there.
#pragma once

#include "slots_params.h"

namespace infini {

INFINI_DEVICE int64_t slot_of(const SlotsParams &p, int64_t token) {
    const int64_t slot = p.slots[token * p.stride];
    return slot >= 0 && slot < p.count ? slot : -1;
}

// Called by all threads of a block with the same token; -1: it is not written.
INFINI_DEVICE int64_t slot_of_block(const SlotsParams &p, int64_t token) {
    const int64_t slot = slot_of(p, token);
    if (slot < 0) return -1;
    if (p.last) return p.last[slot] == token ? slot : -1;
    bool later = false;
    for (int64_t i = token + 1 + threadIdx.x; i < p.tokens; i += blockDim.x)
        later = later || p.slots[i * p.stride] == slot;
    return __syncthreads_or(later) ? -1 : slot;
}

}  // namespace infini
