// A tensor map for TMA (bulk tensor copies), encoded by the driver. For host and device.
#pragma once

#include "divide.h"

namespace infini {

// Four dimensions, the innermost first. A copy reads a box at any position; out-of-bounds elements
// are set to zero.
struct alignas(64) TensorMap {
    uint64_t words[16];
};

}  // namespace infini
