/* For libraries above the runtime that cache memory (for tensors). Not installed. */
#ifndef INFINI_KEEP_H
#define INFINI_KEEP_H

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Excludes this memory or stream from DeviceReset. */
INFINI_EXPORT void infiniKeep(const void *memory_or_stream);
/* Call it before freeing or destroying: the address may then be reused. */
INFINI_EXPORT void infiniLetGo(const void *memory_or_stream);

/* Frees memory of infinirtMalloc or infinirtMallocHost if the streams of its device type are idle,
 * and fails without waiting otherwise. Waits if the back end has no device_query. */
INFINI_EXPORT infiniStatus_t infiniFreeIfIdle(void *memory);

/* After a failed free: the memory may still have been freed, because an error of earlier work is
 * reported by whichever call waits for it. 0 if only the back end knows. */
INFINI_EXPORT int infiniIsFreed(const void *memory);

#ifdef __cplusplus
}
#endif
#endif
