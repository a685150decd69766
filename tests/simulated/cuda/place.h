// The indices of a thread.
#pragma once

#include "services.h"

// Functions of the simulation, not of the kernel.
#ifdef INFINI_SIMULATED_CHECK
#define SIMULATED_UNCHECKED __attribute__((noinline, no_sanitize("kernel-address")))
#else
#define SIMULATED_UNCHECKED
#endif

namespace simulated {
__attribute__((section("simulated_state"))) static State state;
}
#define threadIdx (::simulated::state.thread)
#define blockIdx (::simulated::state.block)
#define blockDim (::simulated::state.block_size)
#define gridDim (::simulated::state.grid_size)
#ifndef INFINI_WARP
#define INFINI_WARP 32
#endif
#define warpSize INFINI_WARP

extern "C" const unsigned infini_simulated_version = simulated::kServicesVersion;
extern "C" const unsigned infini_simulated_warp = INFINI_WARP;
extern "C" __attribute__((used)) inline simulated::State *infini_simulated_state() {
    return &simulated::state;
}
