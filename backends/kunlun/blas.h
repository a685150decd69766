// Products by libxpu_blas.so, whose functions have cuBLAS's names.
#pragma once

#include "backends/vendor_runtime/library.h"

namespace infini::vendor_runtime::kunlun {

// A plan of the library's function for an operation; null: there is none.
std::unique_ptr<LibraryPlan> plan(int device, const Operation &operation);

}  // namespace infini::vendor_runtime::kunlun
