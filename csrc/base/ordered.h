/* What libinfiniccl uses of libinfinirt, beside launch.h: devices by number, and work of its own in
 * streams. Not installed. */
#ifndef INFINI_ORDERED_H
#define INFINI_ORDERED_H

#include "launch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device by its kind and number. */
INFINI_EXPORT infiniStatus_t infiniTargetOf(const char *function, infiniDevice_t kind, int index,
                                            InfiniTarget *target);

/* The file of the target's back end. */
INFINI_EXPORT const char *infiniLibraryOf(const InfiniTarget *target);

/* Lets a stream call run(data), which may block; dispose(data) follows when it is not needed any
 * more, also when this call fails. A stream that is being captured records it: *recorded is 1 then,
 * run is called at each replay, and dispose when the last graph that holds it is gone. */
INFINI_EXPORT infiniStatus_t infiniLaunchHost(const char *function, const InfiniTarget *target,
                                              void *stream, void (*run)(void *),
                                              void (*dispose)(void *), void *data, int *recorded);

/* What is submitted to `after` from now on comes behind what is in `before` now. Streams that are
 * being captured are left as they are. */
INFINI_EXPORT infiniStatus_t infiniOrderStreams(const char *function, const InfiniTarget *target,
                                                void *before, void *after);

/* The back end's own handle of a stream, for work that goes there past the runtime. Where the runtime
 * records graphs itself, a stream that is being captured is refused. */
INFINI_EXPORT infiniStatus_t infiniDriverStream(const char *function, const InfiniTarget *target,
                                                void *stream, void **driver);

/* Says whether work in streams of a device type has failed since. On failure `sentence` says why. */
typedef infiniStatus_t (*InfiniWaitCheck)(int device_type, char *sentence, size_t bytes);

/* Lets every call that waits for a device ask `check` before it returns success; its failure becomes
 * infinirtErrorExternalDevice. */
INFINI_EXPORT void infiniSetWaitCheck(InfiniWaitCheck check);

/* Is the calling thread's last error one of that check? */
INFINI_EXPORT int infiniFailedWaitCheck(void);

/* Between the two, waits of the calling thread do not ask: nobody would see the answer. */
INFINI_EXPORT void infiniBeginQuietWaits(void);
INFINI_EXPORT void infiniEndQuietWaits(void);

#ifdef __cplusplus
}

namespace infini {

/* For waits that belong to no call of the client's, such as those of destructors. */
struct QuietWaits {
    QuietWaits() { infiniBeginQuietWaits(); }
    ~QuietWaits() { infiniEndQuietWaits(); }
    QuietWaits(const QuietWaits &) = delete;
};

}  // namespace infini
#endif
#endif
