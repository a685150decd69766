// What stands between the two products of a feed-forward block.
#pragma once

#include "prelude.cuh"

namespace infini {

// `kind` as in infiniopFusedMoeActivation_t: silu, silu(gate) * up, or one with soft limits.
INFINI_DEVICE float gate_value(int kind, float gate, float up) {
    const float sigmoid = 1.0f / (1.0f + expf(-gate));
    if (kind == 0) return gate * sigmoid;
    if (kind == 1) return gate * sigmoid * up;
    return 4.0f * tanhf(gate * 0.25f) * sigmoid * (25.0f * tanhf(up / 25.0f));
}

}  // namespace infini
