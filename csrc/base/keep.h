/* What DeviceReset leaves alone: memory and streams that a library above the runtime (tensors) holds
 * and goes on using. Not installed. */
#ifndef INFINI_KEEP_H
#define INFINI_KEEP_H

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

INFINI_EXPORT void infiniKeep(const void *memory_or_stream);
/* Before it is freed or destroyed: the address may then be another's. */
INFINI_EXPORT void infiniLetGo(const void *memory_or_stream);

#ifdef __cplusplus
}
#endif
#endif
