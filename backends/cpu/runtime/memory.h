// Memory of the devices: pages from the system. All CPU devices share the machine's memory.
#pragma once

#include <cstddef>

#include "error.h"

namespace infini::cpu {

Error memory_allocate(size_t bytes, void **memory);
Error memory_allocate_host(size_t bytes, void **memory);
Error memory_release(void *memory, size_t bytes);
Error memory_info(size_t *free_bytes, size_t *total_bytes);

// Between processes. The first export moves the bytes to shareable memory at the same address; the
// caller ensures that nothing else uses them meanwhile.
Error memory_export(void *memory, size_t bytes, infinirtIpcMemHandle_t *handle);
Error memory_import(const infinirtIpcMemHandle_t &handle, void **memory, size_t *bytes);
Error memory_close(void *memory, size_t bytes);

// Around fork(): the lock of this file must not be held by a thread that does not exist in the
// child.
void memory_lock_for_fork();
void memory_unlock_after_fork();

}  // namespace infini::cpu
