// The simulated libcudart: a second instance of InfiniRT, private to this library, whose one back
// end is the simulated device (device.cc). What CUDA calls cudaX is that instance's infinirtX.
#pragma once

#include "infinirt_runtime_api.h"

#define SIMULATED_EXPORT extern "C" __attribute__((visibility("default")))

namespace simulated {

using Error = infinirtError_t;

// A symbol of the private instance; ends the process if it is missing.
void *own_symbol(const char *name);

template <class F>
F own_function(const char *symbol) {
    return reinterpret_cast<F>(own_symbol(symbol));
}

// The function's own status, or the failure of an earlier kernel.
Error with_failures(const char *function, Error result);

}  // namespace simulated

// For the simulated driver: a kernel failed. Reported by the next function that waits.
SIMULATED_EXPORT void simulatedReportFailure(infinirtError_t error);
// The number of the device's context, which changes with each reset. 0: the calling thread has
// none.
SIMULATED_EXPORT unsigned simulatedContext();
// The host function that runs a grid. Graph nodes that call it say that they are kernels.
SIMULATED_EXPORT void simulatedNameKernels(infinirtHostFn_t function);
