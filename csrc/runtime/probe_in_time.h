// A probe that ends after a limited time, in a thread of its own.
#pragma once

#include "loader.h"

namespace infini::rt {

// A thread that hangs is left behind: it may hold anything, so nothing waits for it.
Probed probe_in_time(const InfiniBackend &table);

}  // namespace infini::rt
