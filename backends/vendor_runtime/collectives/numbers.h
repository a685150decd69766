// The enumerators of the vendor's collectives library for types and reductions.
#pragma once

#include <cstddef>
#include <string>

#include "backends/vendor_runtime/table.h"

namespace infini::vendor_runtime::collectives {

// The reason why collectives cannot be used; empty: they can.
const std::string &refusal();

constexpr int kNone = -1;

// The enumerator of a dtype or of a reduction; kNone: the library has none.
int type_number(int dtype);
int op_number(int op);
size_t id_bytes();

// A library type for moving elements of a dtype, and how many of it form one element.
struct Form {
    int type = kNone;
    size_t times = 1;
};
Form moved(int dtype);

}  // namespace infini::vendor_runtime::collectives
