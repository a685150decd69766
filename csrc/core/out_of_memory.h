// Thrown when a device or the host has no memory left: MemoryError in Python.
#pragma once

#include <stdexcept>

#include "infinicore.h"

namespace infinicore::detail {

class INFINI_EXPORT OutOfMemory : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Returns cached memory of CPU devices to the system.
void release_host_memory() noexcept;

}  // namespace infinicore::detail
