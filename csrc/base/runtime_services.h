/* Functions of libinfinirt for libinfiniccl in addition to launch.h: devices by number, and own
 * work in streams. Not installed. */
#ifndef INFINI_RUNTIME_SERVICES_H
#define INFINI_RUNTIME_SERVICES_H

#include "launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device by its type and ordinal. */
INFINI_EXPORT infiniStatus_t infiniTargetOf(const char *function, infiniDevice_t kind, int index,
                                            InfiniTarget *target);

/* The path of the target's back-end library. */
INFINI_EXPORT const char *infiniLibraryOf(const InfiniTarget *target);

/* Makes a stream call run(data), which may block. dispose(data) is called when it is no longer
 * needed, also if this call fails. A stream that is being captured records it: then *recorded is 1,
 * run is called in each replay, and dispose when the last graph containing it is destroyed. */
INFINI_EXPORT infiniStatus_t infiniLaunchHost(const char *function, const InfiniTarget *target,
                                              void *stream, void (*run)(void *),
                                              void (*dispose)(void *), void *data, int *recorded);

/* Work submitted to `after` from now on waits for the work now in `before`. Has no effect on
 * streams that are being captured. */
INFINI_EXPORT infiniStatus_t infiniOrderStreams(const char *function, const InfiniTarget *target,
                                                void *before, void *after);

/* The back end's own handle of a stream, for submitting work directly. Where the runtime implements
 * graphs itself, a stream that is being captured is refused. */
INFINI_EXPORT infiniStatus_t infiniDriverStream(const char *function, const InfiniTarget *target,
                                                void *stream, void **driver);

/* Reports whether work in streams of a device type has failed since. On failure `sentence` says
 * why. */
typedef infiniStatus_t (*InfiniWaitCheck)(int device_type, char *sentence, size_t bytes);

/* Makes every call that waits for a device run `check` before it returns success; if that fails,
 * the call returns infinirtErrorExternalDevice. */
INFINI_EXPORT void infiniSetWaitCheck(InfiniWaitCheck check);

/* Does the calling thread's last error come from that check? */
INFINI_EXPORT int infiniFailedWaitCheck(void);

/* Between these two calls, the calling thread's waits skip the check. */
INFINI_EXPORT void infiniBeginQuietWaits(void);
INFINI_EXPORT void infiniEndQuietWaits(void);

#ifdef __cplusplus
}

namespace infini {

/* For waits that do not belong to a user's call, such as those of destructors. */
struct QuietWaits {
    QuietWaits() { infiniBeginQuietWaits(); }
    ~QuietWaits() { infiniEndQuietWaits(); }
    QuietWaits(const QuietWaits &) = delete;
};

}  // namespace infini
#endif
#endif
