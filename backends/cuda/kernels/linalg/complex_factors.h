// Planners of operators on complex matrices that share a kernel with those on real ones.
#pragma once

#include "kernel.h"

namespace infini::cuda {

std::unique_ptr<Plan> plan_complex_linear(const Operation &operation, Device &device);
std::unique_ptr<Plan> plan_complex_cholesky(const Operation &operation, Device &device);

}  // namespace infini::cuda
