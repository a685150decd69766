// Host memory that is written at once, whatever is queued for its CPU.
#pragma once

#include "infinicore/tensor.hpp"

namespace infinicore::detail {

// A tensor on a CPU that no work in a stream uses yet. What the allocator gives may still be in use
// by queued work, e.g. a collective that waits for the calling thread's own part.
Tensor new_host_tensor(const Shape &shape, DataType dtype, const Device &device);

}  // namespace infinicore::detail
