// The error of a failed collective, as infinicore.ccl.CclError.
#pragma once

namespace infini::python {

// Raises the calling thread's last error.
[[noreturn]] void raise_collective_error(const char *function);

}  // namespace infini::python
