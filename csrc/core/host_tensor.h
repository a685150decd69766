// Host memory that can be written immediately, whatever is queued for its CPU.
#pragma once

#include "infinicore/tensor.hpp"

namespace infinicore::detail {

// A tensor on a CPU that no work in a stream uses yet. Memory from the allocator may still be used
// by queued work, e.g. by a collective that waits for the calling thread.
Tensor new_host_tensor(const Shape &shape, DataType dtype, const Device &device);

}  // namespace infinicore::detail
