// The operators of a back end, for the core.
#pragma once

#include <infini/backend.h>

namespace infini::cuda {

extern const InfiniOperators operators;

// Enqueues a plan on a stream of the device. Does not wait.
infinirtError_t run_kernel(const InfiniKernel &kernel, int device, void *stream);

}  // namespace infini::cuda
