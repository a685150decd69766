// Convolution through the vendor's library of neural-network primitives.
#pragma once

#include "kernel.h"

namespace infini::cuda {

// A plan for a conv or grouped_conv whose shapes were checked. Null if the library is missing, or
// has no algorithm for the case.
std::unique_ptr<Plan> plan_conv_dnn(const Operation &operation, Device &device, int64_t groups);

}  // namespace infini::cuda
