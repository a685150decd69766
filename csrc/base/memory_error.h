/* Is the calling thread's last error an out-of-memory error? Usable with either API. Not
 * installed. */
#ifndef INFINI_MEMORY_ERROR_H
#define INFINI_MEMORY_ERROR_H

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

INFINI_EXPORT int infiniMemoryRanOut(void);

#ifdef __cplusplus
}
#endif
#endif
