// Copies of strided tensors by memory copies of contiguous runs: XRE has no function for strided
// copies, and the operator library's are C++ functions that cannot be looked up by name.
#pragma once

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::kunlun {

std::unique_ptr<LibraryPlan> plan_rearrange(const Operation &operation);
// Writes to caches of keys and values.
std::unique_ptr<LibraryPlan> plan_write(int device, const Operation &operation);

}  // namespace infini::vendor_runtime::kunlun
