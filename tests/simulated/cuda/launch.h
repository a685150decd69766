// Work in streams: grids, and other work that is a host function for the runtime.
#pragma once

#include "driver.h"
#include "grid.h"
#include "infinirt_runtime_api.h"

namespace simulated {

// A function of the simulated libcudart, in the same folder as this library.
void *runtime_symbol(const char *name);

#define RUNTIME(name)        \
    static const auto name = \
        reinterpret_cast<decltype(&infinirt##name)>(runtime_symbol("cuda" #name))

unsigned current_context();  // of the device that the thread has chosen; 0: none

// The argument of a host function. It is at the start of memory from malloc, which is freed after
// the single run, or with the captured graph.
struct Work {
    bool kept = false;  // by a graph, for any number of runs
    void done();
};
CUresult enqueue(CUstream stream, infinirtHostFn_t function, Work *work);

// Copies the parameters; rejects what the hardware would reject.
CUresult launch(const Launch &wanted, CUstream stream, const void *parameters);

}  // namespace simulated
