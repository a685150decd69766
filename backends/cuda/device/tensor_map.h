// A tensor map for TMA (bulk tensor copies), encoded by the driver. For host and device.
#pragma once

#include "divide.h"

namespace infini {

// Of four sizes, the innermost first. A copy takes a box of it from any place; out-of-bounds
// elements become zeros.
struct alignas(64) TensorMap {
    uint64_t words[16];
};

}  // namespace infini
