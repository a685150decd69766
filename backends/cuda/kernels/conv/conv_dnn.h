// Convolution through the vendor's library of neural-network primitives.
#pragma once

#include "kernel.h"

namespace infini::cuda {

// Of a conv or grouped_conv whose shapes were checked. Null when the library is absent, or has no
// algorithm for the case.
std::unique_ptr<Plan> plan_conv_dnn(const Operation &operation, Device &device, int64_t groups);

}  // namespace infini::cuda
