// Convolution through the vendor's library of neural-network primitives.
#pragma once

#include "convolution.h"

namespace infini::cuda {

// Pointers: y, x, w, bias, aligned to 16 bytes. Null if the library is missing, or has no engine
// for the case.
std::unique_ptr<Plan> plan_conv_dnn(const ConvolutionShape &shape, Device &device);

}  // namespace infini::cuda
