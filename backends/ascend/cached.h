// Operators that read tensors on the host when they run: writes to caches, attention over them, and
// attention with lengths in device memory; and attention of queries without visible keys.
#pragma once

#include "backends/vendor_runtime/table.h"

namespace infini::vendor_runtime::ascend {

bool is_cached(const Operation &operation);
// A Refusal lists the supported cases.
std::unique_ptr<LibraryPlan> plan_cached(int device, const Operation &operation);
std::unique_ptr<LibraryPlan> plan_paged_attention(int device, const Operation &operation);
std::unique_ptr<LibraryPlan> plan_attention_with_lengths(int device, const Operation &operation);

}  // namespace infini::vendor_runtime::ascend
