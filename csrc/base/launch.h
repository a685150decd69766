/* Functions of libinfinirt for the core's other libraries (operators, collectives). Not
 * installed. */
#ifndef INFINI_LAUNCH_H
#define INFINI_LAUNCH_H

#include <infini/backend.h>

#include "infinicore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A device as seen by the other libraries. Lives as long as the process. */
typedef struct InfiniTarget {
    const InfiniOperators *operators; /* null: the back end has none */
    const char *kind;                 /* "cpu" */
    int device_type;                  /* infiniDevice_t, or above INFINI_DEVICE_TYPE_COUNT */
    int index;
    void *device; /* the runtime's */
} InfiniTarget;

/* The calling thread's device. `function` is the user's call, for messages. */
INFINI_EXPORT infiniStatus_t infiniTargetOfThread(const char *function, InfiniTarget *target);

/* Runs a kernel in a stream of the target's device, or records it if the stream is being captured.
 * A null stream is the device's default stream. */
INFINI_EXPORT infiniStatus_t infiniLaunchKernel(const char *function, const InfiniTarget *target,
                                                void *stream, const InfiniKernel *kernel);

/* Waits for a stream; for kernels whose results go to the host. */
INFINI_EXPORT infiniStatus_t infiniWaitForStream(const char *function, const InfiniTarget *target,
                                                 void *stream);

/* Sets the message of infiniGetLastErrorMessage and returns the status. Null keeps what a back end
 * has explained. */
INFINI_EXPORT infiniStatus_t infiniRecordFailure(const char *function, infiniStatus_t status,
                                                 const char *sentence);

/* Can the memory be read or written? Probes the pages, and caches the answer for later calls. */
INFINI_EXPORT int infiniIsHostMemory(const void *pointer, size_t bytes, int write);

#ifdef __cplusplus
}
#endif
#endif
