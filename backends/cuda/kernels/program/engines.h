// What makes the launches of a phase.
#pragma once

#include "kernels/program/compose.h"

namespace infini::cuda::program {

// A phase of a program, about to be planned.
struct Phase {
    const Layout &layout;
    const InfiniProgram &program;
    Device &device;
    bool rough;             // its tensors show 16 bits or fewer
    int64_t workspace = 0;  // bytes that are taken already; engines add theirs
};

Launches plan_map(Phase &phase);
Launches plan_rows(Phase &phase);

// A source with everything that stands before a composed text.
Source begin_source(const char *file, const Phase &phase, const Composer &composer);

}  // namespace infini::cuda::program
