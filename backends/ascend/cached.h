// Operators that look at tensors when they run: writes into caches, attention to them, and
// attention with lengths in memory of the device; and attention of queries that see no key.
#pragma once

#include "backends/vendor_runtime/table.h"

namespace infini::vendor_runtime::ascend {

bool is_cached(const Operation &operation);
// A Refusal says what the functions take.
std::unique_ptr<LibraryPlan> plan_cached(int device, const Operation &operation);
std::unique_ptr<LibraryPlan> plan_paged_attention(int device, const Operation &operation);
std::unique_ptr<LibraryPlan> plan_attention_with_lengths(int device, const Operation &operation);

}  // namespace infini::vendor_runtime::ascend
