/* Is the calling thread's last error a lack of memory? Usable with either face. Not installed. */
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
