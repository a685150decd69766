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

#ifdef __cplusplus
}
#endif
#endif
