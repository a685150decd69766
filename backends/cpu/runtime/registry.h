// The kernels for this machine: for each operator the one compiled for the best instruction set
// that the processor supports.
#pragma once

#include "../kernels/kernel.h"

namespace infini::cpu {

// Null when no kernel of that name was compiled.
Planner find_planner(const char *operation);

}  // namespace infini::cpu
