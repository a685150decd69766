// Operators that no vendor's library implements as defined here, with the reasons.
#pragma once

namespace infini::vendor_runtime {

// A human-readable reason; null: none known.
const char *common_reason(const char *operation);

}  // namespace infini::vendor_runtime
