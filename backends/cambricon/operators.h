// Operators implemented by CNNL, as rows of a table.
#pragma once

#include "backends/vendor_runtime/library.h"
#include "backends/vendor_runtime/rows.h"

namespace infini::vendor_runtime::cambricon {

// Whether there is a row for it. Throws a Refusal with what is missing if nothing else can run it.
bool has_row(const Operation &operation);
std::unique_ptr<LibraryPlan> plan_row(int device, const Operation &operation);
const char *operator_doubts();

}  // namespace infini::vendor_runtime::cambricon
