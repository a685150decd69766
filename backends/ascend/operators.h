// Operators that aclnn functions do, as rows.
#pragma once

#include "backends/vendor_runtime/library.h"
#include "backends/vendor_runtime/rows.h"

namespace infini::vendor_runtime::ascend {

// Is there a row for it? A Refusal says what is missing where nothing else could do it.
bool has_row(const Operation &operation);
std::unique_ptr<LibraryPlan> plan_row(int device, const Operation &operation);
const char *operator_doubts();

}  // namespace infini::vendor_runtime::ascend
