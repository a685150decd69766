// The operators of a back end, as the core sees them.
#pragma once

#include <infini/backend.h>

namespace infini::cuda {

extern const InfiniOperators operators;

// Enqueues a plan on a stream of the device. Does not wait.
infinirtError_t run_kernel(const InfiniKernel &kernel, int device, void *stream);

}  // namespace infini::cuda
