// Planners of the launches of a phase.
#pragma once

#include "kernels/program/compose.h"

namespace infini::cuda::program {

// A phase of a program, about to be planned.
struct Phase {
    const LoopNest &nest;
    const InfiniProgram &program;
    Device &device;
    int rough;               // INFINI_ROUGH of device/functions.cuh; 0: none
    int64_t workspace = 0;   // bytes that are taken already; engines add theirs
    bool invariant = false;  // the order of a row's sums does not depend on how many rows there are
};

Launches plan_map(Phase &phase);
Launches plan_tiles(Phase &phase, int turned);
Launches plan_rows(Phase &phase);

// The required accuracy of functions: lower if all tensors have so few bits that the last bits of a
// float do not matter.
int roughness(const Operation &operation, const InfiniProgram &program, ValueType type);

// A source with everything that comes before a composed text.
Source begin_source(const char *file, const Phase &phase, const Composer &composer);

}  // namespace infini::cuda::program
