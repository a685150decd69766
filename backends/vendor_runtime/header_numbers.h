// Numbers that only a vendor's header has: no public source tells them, and none is guessed. SDKs
// install the header beside their libraries.
#pragma once

#include <map>
#include <string>

#include "table.h"

namespace infini::vendor_runtime {

// Of enumerators, and of macros that are numbers, in "a.h|b.h". Empty: no header is beside the
// library, nor in ../include or ../../include.
const std::map<std::string, long> &header_numbers(Part part, const char *header);

}  // namespace infini::vendor_runtime
