// Writing keys and values into caches, for libraries without a function that has the operators'
// layout: places are read on the host, and rows that follow each other are one copy of a strided
// tensor.
#pragma once

#include <functional>

#include "table.h"

namespace infini::vendor_runtime {

// Copies a strided tensor in a stream: the vendor's code, and what was called.
using CopyView = std::function<int(void *stream, const Shape &to, void *to_data, const Shape &from,
                                   const void *from_data, void *workspace, const char **call)>;

bool is_cache_write(const Operation &operation);
// Views of the largest copies that a run may make, of keys and of values: to learn how much
// workspace the vendor's function wants.
std::vector<std::pair<Shape, Shape>> largest_copies(const Operation &operation);
std::unique_ptr<LibraryPlan> plan_cache_write(int device, const Operation &operation, CopyView copy,
                                              size_t workspace);

}  // namespace infini::vendor_runtime
