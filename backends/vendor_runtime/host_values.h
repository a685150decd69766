// Integers in memory of a device, for plans that need them on the host.
#pragma once

#include <infini/operation.h>

#include <vector>

namespace infini::vendor_runtime {

// All elements in their order. False: they could not be copied, and it was explained why. The
// stream that wrote them has to be idle.
bool read_integers(int device, const Shape &shape, const void *data, std::vector<int64_t> *values);

}  // namespace infini::vendor_runtime
