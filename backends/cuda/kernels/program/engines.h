// Planners of the launches of a phase.
#pragma once

#include "kernels/program/compose.h"

namespace infini::cuda::program {

// A phase of a program to be planned.
struct Phase {
    const LoopNest &nest;
    const InfiniProgram &program;
    Device &device;
    int rough;               // INFINI_ROUGH of device/functions.cuh; 0: none
    int64_t workspace = 0;   // bytes already used; engines add theirs
    bool invariant = false;  // the order of a row's sums does not depend on the number of rows
};

Launches plan_map(Phase &phase);
Launches plan_tiles(Phase &phase, int turned);
Launches plan_rows(Phase &phase);

// The required accuracy of functions: lower if the precision of all tensors hides errors in the
// last bits of a float.
int roughness(const Operation &operation, const InfiniProgram &program, ValueType type);

// A source with everything that precedes a composed text.
Source begin_source(const char *file, const Phase &phase, const Composer &composer);

}  // namespace infini::cuda::program
