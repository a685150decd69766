/* The collectives of a back end: everything libinfiniccl calls and a vendor implements.
 *
 * The core checks arguments, collects groups, orders streams, splits communicators, and composes
 * what a back end lacks from sends and receives. A back end provides communicators, and one of two
 * ways to run operations:
 *
 *  - `submit`, for vendors' libraries that take streams themselves: a whole group is enqueued in
 *    one call.
 *  - `run`, for everything else: the core calls it in stream order, on a thread that may block.
 *    Capture and graphs then work without further code.
 *
 * All functions return an infiniStatus_t and may explain an error through InfiniHost::explain.
 *
 * The library's symbol `infini_backend_collectives` returns the table; a back end without it has no
 * collectives.
 */
#ifndef INFINI_COLLECTIVES_H
#define INFINI_COLLECTIVES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INFINI_COLLECTIVE_ID_BYTES 128

typedef enum InfiniCollectiveKind {
    INFINI_ALL_REDUCE = 1,
    INFINI_REDUCE = 2,
    INFINI_BROADCAST = 3,
    INFINI_ALL_GATHER = 4,
    INFINI_REDUCE_SCATTER = 5,
    INFINI_GATHER = 6,
    INFINI_SCATTER = 7,
    INFINI_ALL_TO_ALL = 8,
    INFINI_SEND = 9,
    INFINI_RECEIVE = 10,
    INFINI_COLLECTIVE_KINDS = 11
} InfiniCollectiveKind;

/* One operation of one rank. Buffers may be null where they hold nothing. */
typedef struct InfiniCollective {
    int32_t kind;
    int32_t dtype; /* infiniDtype_t */
    int32_t op;    /* infinicclReduceOp_t, for reductions */
    int32_t root;  /* or the other rank of a SEND or RECEIVE */
    const void *send;
    void *recv;
    /* Elements: of the whole buffer for ALL_REDUCE, REDUCE, BROADCAST, SEND and RECEIVE; of one
     * rank's part for the others. */
    size_t count;
    /* Elements of each rank's part, if these differ: received by ALL_GATHER, sent by
     * REDUCE_SCATTER, both by ALL_TO_ALL. Null: all have `count`. Parts are consecutive. */
    const size_t *send_counts;
    const size_t *recv_counts;
    void *stream; /* for submit: the vendor's */
} InfiniCollective;

struct InfiniCommunicator; /* the back end's */

typedef struct InfiniCollectives {
    size_t size; /* sizeof(InfiniCollectives) of the header that the back end was built with */

    /* Create an id by which ranks find each other, in this process and in others. */
    int (*make_id)(unsigned char id[INFINI_COLLECTIVE_ID_BYTES]);
    /* Join as one of the ranks. Waits until all have joined, or `timeout` seconds have passed. */
    int (*join)(int device, int ranks, int rank, const unsigned char id[INFINI_COLLECTIVE_ID_BYTES],
                double timeout, struct InfiniCommunicator **communicator);
    /* Join as all ranks together, one for each device, in one process. */
    int (*join_all)(int ranks, const int *devices, double timeout,
                    struct InfiniCommunicator **communicators);
    /* Leave. The communicator's work is done by then. */
    int (*leave)(struct InfiniCommunicator *communicator);
    /* Make pending operations, here and on other ranks, fail soon. (optional) */
    int (*abort)(struct InfiniCommunicator *communicator, const char *reason);
    /* Seconds that an operation waits for other ranks before it fails. (optional) */
    int (*set_timeout)(struct InfiniCommunicator *communicator, double seconds);
    /* Success, or an error with the reason why the communicator is unusable. (optional) */
    int (*state)(struct InfiniCommunicator *communicator, char *reason, size_t reason_bytes);

    /* Run the operations of a group on one communicator, and wait for them. If it returns
     * NotImplemented before doing anything, the core composes them. (one of the two) */
    int (*run)(struct InfiniCommunicator *communicator, const InfiniCollective *work, size_t count);
    /* Enqueue a group: `communicators[i]` runs `work[i]`. Operations of one communicator run in the
     * order of the calls, also across streams; streams of earlier calls may have been destroyed.
     * If it returns NotImplemented, the core composes the operation. (one of the two) */
    int (*submit)(struct InfiniCommunicator *const *communicators, const InfiniCollective *work,
                  size_t count);

    /* All-gather `bytes` bytes of host memory, ordered by rank. Blocks. (optional)
     * Default: an ALL_GATHER through `run`. */
    int (*share)(struct InfiniCommunicator *communicator, const void *mine, void *all,
                 size_t bytes);
    /* The library and its version, or the transport, for display. NotImplemented with a reason if
     * collectives are not available. (optional) */
    int (*about)(char *text, size_t text_bytes);
} InfiniCollectives;

typedef const InfiniCollectives *(*InfiniCollectivesOpen)(void);
#define INFINI_COLLECTIVES_OPEN "infini_backend_collectives"

#ifdef __cplusplus
}
#endif
#endif
