/* Functions of InfiniRT outside its two APIs: choosing the device type, listing back ends, and the
 * message of the last error. Usable with either API. */
#ifndef INFINI_EXT_H
#define INFINI_EXT_H

#include <stddef.h>

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One sentence about the calling thread's last failed call: function, argument, what was expected.
 * Never null; valid until the thread's next failing call. Empty if nothing has failed yet. */
INFINI_EXPORT const char *infiniGetLastErrorMessage(void);

/* The device type ("cpu", ...) that this thread's calls of the aligned API use. */
INFINI_EXPORT infiniStatus_t infinirtSetDeviceKind(const char *kind);
INFINI_EXPORT const char *infinirtGetDeviceKind(void);

/* Every back end that was found, including those without a device and those that failed to load. */
typedef struct infinirtBackendInfo {
    size_t size;         /* set to sizeof(infinirtBackendInfo) by the caller */
    const char *name;    /* device type, or the library's file name if it could not be opened */
    const char *vendor;  /* for display; may be empty */
    const char *version; /* for display; may be empty */
    const char *path;    /* of the library */
    const char *reason;  /* why it has no device; else a remark, or empty */
    int device_count;
    int device_type; /* infiniDevice_t, or above INFINI_DEVICE_TYPE_COUNT for other kinds */
} infinirtBackendInfo;

INFINI_EXPORT int infinirtGetBackendCount(void);
INFINI_EXPORT infiniStatus_t infinirtGetBackendInfo(int index, infinirtBackendInfo *info);

/* Load one more back end. Alternatively, add its folder to INFINI_BACKEND_PATH. */
INFINI_EXPORT infiniStatus_t infinirtLoadBackend(const char *path);

#ifdef __cplusplus
}
#endif
#endif
