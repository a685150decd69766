// Copies of strided tensors by copies of memory, run by run: XRE has no function for them, and the
// operator library's are C++ functions that cannot be found by name.
#pragma once

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::kunlun {

std::unique_ptr<LibraryPlan> plan_rearrange(const Operation &operation);
// Writes into caches of keys and values.
std::unique_ptr<LibraryPlan> plan_write(int device, const Operation &operation);

}  // namespace infini::vendor_runtime::kunlun
