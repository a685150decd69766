// Operators of libcnnl.so.
#pragma once

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::cambricon {

// A plan of the CNNL function for an operation; null: there is none.
std::unique_ptr<LibraryPlan> plan(int device, const Operation &operation);

}  // namespace infini::vendor_runtime::cambricon
