/* For a library above the runtime that caches memory (tensors). Not installed. */
#ifndef INFINI_KEEP_H
#define INFINI_KEEP_H

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DeviceReset leaves this memory or stream alone. */
INFINI_EXPORT void infiniKeep(const void *memory_or_stream);
/* Before it is freed or destroyed: the address may then be another's. */
INFINI_EXPORT void infiniLetGo(const void *memory_or_stream);

/* Frees memory of infinirtMalloc or infinirtMallocHost if no stream of its device type has work, and
 * fails without waiting otherwise. A back end without device_query is waited for. */
INFINI_EXPORT infiniStatus_t infiniFreeIfIdle(void *memory);

/* After a free that failed: the memory may be gone all the same, because the failure of earlier work
 * is reported by whichever call waits for it. 0 where only the back end knows. */
INFINI_EXPORT int infiniIsFreed(const void *memory);

#ifdef __cplusplus
}
#endif
#endif
