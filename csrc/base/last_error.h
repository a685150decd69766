/* For calls that the user did not make (by a garbage collector, say): they preserve the thread's
 * last error. Not installed. */
#ifndef INFINI_LAST_ERROR_H
#define INFINI_LAST_ERROR_H

#include "infinirt_runtime_api.h"

#ifdef __cplusplus
extern "C" {
#endif

INFINI_EXPORT void infiniRestoreLastError(infinirtError_t error);

#ifdef __cplusplus
}
#endif
#endif
