"""InfiniCCL: `infiniccl.h`, in the text form of spec/model.py.

Functions are written without the prefix `infiniccl` and return infiniStatus_t. A tag `[kind: …]`
says which collective a function is; its parameters are then assigned to the members of
`InfiniCollective` by name (see FIELDS), and its entry point is derived from that alone.
"""

# The member of InfiniCollective for each parameter of a collective.
FIELDS = {
    "sendbuf": "send",
    "recvbuf": "recv",
    "count": "count",
    "send_count": "count",
    "recv_count": "count",
    "send_counts": "send_counts",
    "recv_counts": "recv_counts",
    "dataype": "dtype",  # the first generation's spelling
    "datatype": "dtype",
    "op": "op",
    "root": "root",
    "peer": "root",
}

FUNCTIONS = """
Describe(infiniDevice_t device_type, fill(bytes) char *text, size_t bytes)
    Say in words what does the collectives of a kind of device, such as a library and its version.
    Fails with the reason where there are none.

CommInitAll(infiniDevice_t device_type, fill(ndevice) infinicclComm_t *comms, int ndevice,
        list?(ndevice) const int *device_ids)
    Make communicators for devices of this process, one each: rank i works on device_ids[i], or
    on device i when that is null.

GetUniqueId(out infinicclUniqueId_t *unique_id)
    Make an id with which ranks find each other. One rank makes it and gives it to the others.
    It is for devices of the kind that the calling thread works on.

CommInitRank(out infinicclComm_t *comm, int nranks, infinicclUniqueId_t comm_id, int rank)
    Join as one of `nranks` ranks, on the calling thread's device. Waits for the others.

CommDestroy(infinicclComm_t comm)
    Wait for the work of a communicator on this rank, and leave it. Fails, having left, where
    some of that work has failed and no call has told so.

CommAbort(infinicclComm_t comm)
    Leave at once: what waits in it fails, here and on the other ranks.

CommSplit(infinicclComm_t comm, int color, int key, out infinicclComm_t *newcomm)
    Make communicators of the ranks that give the same color, ordered by key and then by rank.
    All ranks call it. A negative color joins none, and gets null.

CommCount(infinicclComm_t comm, out int *count)
    Tell the number of ranks.

CommRank(infinicclComm_t comm, out int *rank)
    Tell the rank of this communicator.

CommSetTimeout(infinicclComm_t comm, double seconds)
    Say how long an operation waits for other ranks before it fails; 0 is for ever. To begin
    with it is what INFINI_CCL_TIMEOUT says, or 300.

CommGetAsyncError(infinicclComm_t comm, out infiniStatus_t *status)
    Tell whether operations have failed since they were enqueued; infiniGetLastErrorMessage then
    says why.

GroupStart(infinicclComm_t comm)
    Begin a group: operations of this thread, of any communicator, are enqueued together at its
    end. `comm` may be null. Groups nest.

GroupEnd(infinicclComm_t comm)
    End a group.

AllReduce(ptr void *sendbuf, ptr void *recvbuf, size_t count, infiniDtype_t dataype,
        infinicclReduceOp_t op, infinicclComm_t comm, infinirtStream_t stream)
    Combine the buffers of all ranks, element by element; every rank gets the result. [kind:
    ALL_REDUCE]

Reduce(ptr const void *sendbuf, ptr void *recvbuf, size_t count, infiniDtype_t datatype,
        infinicclReduceOp_t op, int root, infinicclComm_t comm, infinirtStream_t stream)
    Combine the buffers of all ranks; `root` gets the result. [kind: REDUCE]

Broadcast(ptr const void *sendbuf, ptr void *recvbuf, size_t count, infiniDtype_t datatype, int
        root, infinicclComm_t comm, infinirtStream_t stream)
    Give every rank the buffer of `root`. [kind: BROADCAST]

AllGather(ptr void *sendbuf, ptr void *recvbuf, size_t send_count, infiniDtype_t dataype,
        infinicclComm_t comm, infinirtStream_t stream)
    Give every rank the buffers of all, one after the other. [kind: ALL_GATHER]

AllGatherV(ptr void *sendbuf, ptr void *recvbuf, list(nranks) const size_t *recv_counts, int
        nranks, infiniDtype_t dataype, infinicclComm_t comm, infinirtStream_t stream)
    AllGather of buffers that differ in size: rank i sends recv_counts[i] elements. [kind:
    ALL_GATHER]

ReduceScatter(ptr void *sendbuf, ptr void *recvbuf, size_t recv_count, infiniDtype_t dataype,
        infinicclReduceOp_t op, infinicclComm_t comm, infinirtStream_t stream)
    Combine the buffers of all ranks; each gets its part of the result. [kind: REDUCE_SCATTER]

ReduceScatterV(ptr void *sendbuf, ptr void *recvbuf, list(nranks) const size_t *send_counts, int
        nranks, infiniDtype_t dataype, infinicclReduceOp_t op, infinicclComm_t comm,
        infinirtStream_t stream)
    ReduceScatter of parts that differ in size: rank i gets send_counts[i] elements. [kind:
    REDUCE_SCATTER]

Gather(ptr const void *sendbuf, ptr void *recvbuf, size_t send_count, infiniDtype_t datatype, int
        root, infinicclComm_t comm, infinirtStream_t stream)
    Give `root` the buffers of all, one after the other. [kind: GATHER]

Scatter(ptr const void *sendbuf, ptr void *recvbuf, size_t recv_count, infiniDtype_t datatype, int
        root, infinicclComm_t comm, infinirtStream_t stream)
    Give each rank its part of the buffer of `root`. [kind: SCATTER]

AllToAll(ptr const void *sendbuf, ptr void *recvbuf, size_t count, infiniDtype_t datatype,
        infinicclComm_t comm, infinirtStream_t stream)
    Each rank sends part i of its buffer to rank i. [kind: ALL_TO_ALL]

AllToAllV(ptr const void *sendbuf, ptr void *recvbuf, list(nranks) const size_t *send_counts,
        list(nranks) const size_t *recv_counts, int nranks, infiniDtype_t datatype,
        infinicclComm_t comm, infinirtStream_t stream)
    AllToAll of parts that differ in size. [kind: ALL_TO_ALL]

Send(ptr const void *sendbuf, size_t count, infiniDtype_t datatype, int peer, infinicclComm_t
        comm, infinirtStream_t stream)
    Send a buffer to a rank that receives it. [kind: SEND]

Recv(ptr void *recvbuf, size_t count, infiniDtype_t datatype, int peer, infinicclComm_t comm,
        infinirtStream_t stream)
    Receive a buffer that a rank sends. [kind: RECEIVE]
"""

ENUMS = """
enum infinicclReduceOp_t  How elements are combined.
    INFINICCL_SUM = 0
    INFINICCL_PROD = 1
    INFINICCL_MAX = 2
    INFINICCL_MIN = 3
    INFINICCL_AVG = 4  the sum, divided by the number of ranks
"""
