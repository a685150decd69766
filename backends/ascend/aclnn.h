// Operators of libopapi.so: aclnnX, each called in two steps.
#pragma once

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::ascend {

// A plan of the aclnn function for an operation; null: there is none.
std::unique_ptr<LibraryPlan> plan(int device, const Operation &operation);

}  // namespace infini::vendor_runtime::ascend
