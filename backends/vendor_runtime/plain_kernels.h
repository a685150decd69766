// Operators without a program that the plain engine does all the same: copies of strided tensors
// that the library does not take, products without anything to multiply, and random numbers, which
// are the same on every device.
#pragma once

#include <memory>

#include "backends/null/interpreter.h"

namespace infini::vendor_runtime {

// Has the result no elements, or the matrices nothing in common? Libraries refuse such products.
bool is_empty_product(const Operation &operation);

// Null: it is none of them. Tensor 0 is the result.
std::unique_ptr<plain::Plan> plan_plain_kernel(const Operation &operation);

}  // namespace infini::vendor_runtime
