/* For calls that nobody asked for, as a garbage collector makes: they leave the thread's last error as
 * it was. Not installed. */
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
