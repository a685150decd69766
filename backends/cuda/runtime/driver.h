// The entries of the driver table; backend.cc has the table, infini/backend.h documents them.
#pragma once

#include "libraries.h"

namespace infini::cuda {

int probe(char *reason, size_t reason_bytes);
const char *versions();  // of the libraries that probe found, human-readable

// The vendor's value, and its result code: 0 is success. Attributes have our numbers.
int ask_attribute(int *value, int attribute, int device);
Error device_info(int device, InfiniDeviceInfo *info);
Error device_memory(int device, size_t *free_bytes, size_t *total_bytes);
Error device_synchronize(int device);
Error device_attribute(int device, infinirtDeviceAttr attribute, int *value);
Error peer_access(int device, int peer, int *can);

Error allocate(int device, size_t bytes, void **memory);
Error release(int device, void *memory, size_t bytes);
Error allocate_host(size_t bytes, unsigned flags, void **memory);
Error release_host(void *memory, size_t bytes);
Error register_host(void *memory, size_t bytes, unsigned flags);
Error unregister_host(void *memory, size_t bytes);
Error allocate_managed(int device, size_t bytes, void **memory);

Error stream_create(int device, unsigned flags, int priority, void **stream);
Error stream_destroy(int device, void *stream);
Error stream_query(int device, void *stream);
Error stream_synchronize(int device, void *stream);
Error submit(int device, void *stream, const InfiniWork *work, size_t count);

Error event_create(int device, unsigned flags, void **event);
Error event_destroy(int device, void *event);
Error event_query(int device, void *event);
Error event_synchronize(int device, void *event);
Error event_elapsed(void *start, void *end, float *milliseconds);

Error memory_export(int device, void *memory, size_t bytes, infinirtIpcMemHandle_t *handle);
Error memory_import(int device, const infinirtIpcMemHandle_t *handle, void **memory, size_t *bytes);
Error memory_close(int device, void *memory, size_t bytes);
Error event_export(void *event, infinirtIpcEventHandle_t *handle);
Error event_import(int device, const infinirtIpcEventHandle_t *handle, void **event);

}  // namespace infini::cuda
