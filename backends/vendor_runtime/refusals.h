// Operators that no vendor's library has as they are defined here, and why.
#pragma once

namespace infini::vendor_runtime {

// For people; null: nothing is known against it.
const char *common_reason(const char *operation);

}  // namespace infini::vendor_runtime
