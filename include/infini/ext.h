/* What InfiniRT offers beyond the CUDA set and the first-generation set: choosing the kind of
 * device, listing back ends, and the message behind the last error. Usable with either face. */
#ifndef INFINI_EXT_H
#define INFINI_EXT_H

#include <stddef.h>

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One sentence about the calling thread's last failed call: function, argument, what was expected.
 * Never null; valid until the thread's next failing call. Empty when nothing failed yet. */
INFINI_EXPORT const char *infiniGetLastErrorMessage(void);

/* The device type ("cpu", ...) that this thread's calls of the aligned face go to. */
INFINI_EXPORT infiniStatus_t infinirtSetDeviceKind(const char *kind);
INFINI_EXPORT const char *infinirtGetDeviceKind(void);

/* Every back end that was found, also those without a device or that could not be used. */
typedef struct infinirtBackendInfo {
    size_t size;         /* set to sizeof(infinirtBackendInfo) by the caller */
    const char *name;    /* device type, or the library's file name when it could not be opened */
    const char *vendor;  /* for people; may be empty */
    const char *version; /* for people; may be empty */
    const char *path;    /* of the library */
    const char *reason;  /* why it has no device; else a remark, or empty */
    int device_count;
    int device_type; /* infiniDevice_t, or above INFINI_DEVICE_TYPE_COUNT for other kinds */
} infinirtBackendInfo;

INFINI_EXPORT int infinirtGetBackendCount(void);
INFINI_EXPORT infiniStatus_t infinirtGetBackendInfo(int index, infinirtBackendInfo *info);

/* Open one more back end now. The other way: name its folder in INFINI_BACKEND_PATH. */
INFINI_EXPORT infiniStatus_t infinirtLoadBackend(const char *path);

#ifdef __cplusplus
}
#endif
#endif
