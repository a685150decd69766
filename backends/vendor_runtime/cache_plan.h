// Writing keys and values to caches, for libraries without a function for the operators' layout:
// slots are read on the host, and consecutive rows are one copy of a strided tensor.
#pragma once

#include <functional>

#include "table.h"

namespace infini::vendor_runtime {

// Copies a strided tensor in a stream; returns the vendor's code, and the name of the called
// function.
using CopyView = std::function<int(void *stream, const Shape &to, void *to_data, const Shape &from,
                                   const void *from_data, void *workspace, const char **call)>;

bool is_cache_write(const Operation &operation);
// Views of the largest possible copies of keys and of values, to get the workspace size of the
// vendor's function.
std::vector<std::pair<Shape, Shape>> largest_copies(const Operation &operation);
std::unique_ptr<LibraryPlan> plan_cache_write(int device, const Operation &operation, CopyView copy,
                                              size_t workspace);

}  // namespace infini::vendor_runtime
