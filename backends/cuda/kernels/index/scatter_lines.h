// Folds of scatter in shared memory, a warp for each line of the output or for a part of its
// updates. Its result does not depend on the order of the warps.
#pragma once

#include "kernel.h"
#include "kernels/index/fold.h"

namespace infini::cuda {

// Null if a line does not fit into shared memory, or another way takes less time. An `orderless`
// fold can also be made by atomic operations.
std::unique_ptr<Plan> plan_scatter_lines(const Operation &operation, const Reduction &reduction,
                                         bool orderless, Device &device);

}  // namespace infini::cuda
