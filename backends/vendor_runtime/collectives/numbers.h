// The numbers by which the vendor's collectives library knows types and reductions.
#pragma once

#include <cstddef>
#include <string>

#include "backends/vendor_runtime/table.h"

namespace infini::vendor_runtime::collectives {

// Why collectives cannot be used; empty: they can.
const std::string &refusal();

constexpr int kNone = -1;

// Of a dtype or of a reduction; kNone: the library has none.
int type_number(int dtype);
int op_number(int op);
size_t id_bytes();

// A type of the library's that moves elements of a dtype, and how many of it make up one of them.
struct Form {
    int type = kNone;
    size_t times = 1;
};
Form moved(int dtype);

}  // namespace infini::vendor_runtime::collectives
