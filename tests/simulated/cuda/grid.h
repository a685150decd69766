// Runs grids: block after block, the threads of a block as fibers that take turns where they wait
// for each other. One grid at a time in a process.
#pragma once

#include "module.h"

namespace simulated {

struct Launch {
    const Function *function = nullptr;
    Position grid{}, block{};
    unsigned dynamic_bytes = 0;
    const void *parameters = nullptr;
};

// 0, or the error code; the error has been printed to stderr.
int run_grid(const Launch &launch);

}  // namespace simulated
