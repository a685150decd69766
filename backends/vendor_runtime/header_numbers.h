// Values that are only in a vendor's header: no public source documents them, and none is guessed.
// SDKs install the header beside their libraries.
#pragma once

#include <map>
#include <string>

#include "table.h"

namespace infini::vendor_runtime {

// The values of enumerators and numeric macros in "a.h|b.h". Empty: no header is beside the
// library, nor in ../include or ../../include.
const std::map<std::string, long> &header_numbers(Part part, const char *header);

}  // namespace infini::vendor_runtime
