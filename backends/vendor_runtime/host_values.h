// Integers in device memory, for plans that need them on the host.
#pragma once

#include <infini/operation.h>

#include <vector>

namespace infini::vendor_runtime {

// All elements in order. False: the copy failed, and the message was set. The stream that wrote
// them must be idle.
bool read_integers(int device, const Shape &shape, const void *data, std::vector<int64_t> *values);

}  // namespace infini::vendor_runtime
