"""Structs for graphs and their nodes."""

STRUCTS = """
struct infinirtMemcpyNodeParams [176 bytes]
    int flags
    int reserved[3]
    struct infinirtMemcpy3DParms copyParams

struct infinirtMemsetParams [40 bytes]
    void *dst
    size_t pitch
    unsigned int value
    unsigned int elementSize
    size_t width
    size_t height

struct infinirtMemsetParamsV2 [40 bytes]
    void *dst
    size_t pitch
    unsigned int value
    unsigned int elementSize
    size_t width
    size_t height

struct infinirtHostNodeParams [16 bytes]
    infinirtHostFn_t fn
    void *userData

struct infinirtHostNodeParamsV2 [16 bytes]
    infinirtHostFn_t fn
    void *userData

struct infinirtMemAllocNodeParams [120 bytes]
    struct infinirtMemPoolProps poolProps
    const struct infinirtMemAccessDesc *accessDescs
    size_t accessDescCount
    size_t bytesize
    void *dptr

struct infinirtMemAllocNodeParamsV2 [120 bytes]
    struct infinirtMemPoolProps poolProps
    const struct infinirtMemAccessDesc *accessDescs
    size_t accessDescCount
    size_t bytesize
    void *dptr

struct infinirtMemFreeNodeParams [8 bytes]
    void *dptr

struct infinirtKernelNodeParams [56 bytes]
    void *func
    dim3 gridDim
    dim3 blockDim
    unsigned int sharedMemBytes
    void **kernelParams
    void **extra

struct infinirtKernelNodeParamsV2 [56 bytes]
    void *func
    dim3 gridDim
    dim3 blockDim
    unsigned int sharedMemBytes
    void **kernelParams
    void **extra

struct infinirtExternalSemaphoreSignalNodeParams [24 bytes]
    infinirtExternalSemaphore_t *extSemArray
    const struct infinirtExternalSemaphoreSignalParams *paramsArray
    unsigned int numExtSems

struct infinirtExternalSemaphoreSignalNodeParamsV2 [24 bytes]
    infinirtExternalSemaphore_t *extSemArray
    const struct infinirtExternalSemaphoreSignalParams *paramsArray
    unsigned int numExtSems

struct infinirtExternalSemaphoreWaitNodeParams [24 bytes]
    infinirtExternalSemaphore_t *extSemArray
    const struct infinirtExternalSemaphoreWaitParams *paramsArray
    unsigned int numExtSems

struct infinirtExternalSemaphoreWaitNodeParamsV2 [24 bytes]
    infinirtExternalSemaphore_t *extSemArray
    const struct infinirtExternalSemaphoreWaitParams *paramsArray
    unsigned int numExtSems

struct infinirtConditionalNodeParams [24 bytes]
    infinirtGraphConditionalHandle handle
    enum infinirtGraphConditionalNodeType type
    unsigned int size
    infinirtGraph_t *phGraph_out

struct infinirtChildGraphNodeParams [16 bytes]
    infinirtGraph_t graph
    enum infinirtGraphChildGraphNodeOwnership ownership

struct infinirtEventRecordNodeParams [8 bytes]
    infinirtEvent_t event

struct infinirtEventWaitNodeParams [8 bytes]
    infinirtEvent_t event

struct infinirtGraphNodeParams [256 bytes]
    enum infinirtGraphNodeType type
    int reserved0[3]
    union:
        long long reserved1[29]
        struct infinirtKernelNodeParamsV2 kernel
        struct infinirtMemcpyNodeParams memcpy
        struct infinirtMemsetParamsV2 memset
        struct infinirtHostNodeParamsV2 host
        struct infinirtChildGraphNodeParams graph
        struct infinirtEventWaitNodeParams eventWait
        struct infinirtEventRecordNodeParams eventRecord
        struct infinirtExternalSemaphoreSignalNodeParamsV2 extSemSignal
        struct infinirtExternalSemaphoreWaitNodeParamsV2 extSemWait
        struct infinirtMemAllocNodeParamsV2 alloc
        struct infinirtMemFreeNodeParams free
        struct infinirtConditionalNodeParams conditional
    long long reserved2

struct infinirtGraphEdgeData_st [8 bytes]
    unsigned char from_port
    unsigned char to_port
    unsigned char type
    unsigned char reserved[5]

struct infinirtGraphInstantiateParams_st [32 bytes]
    unsigned long long flags
    infinirtStream_t uploadStream
    infinirtGraphNode_t errNode_out
    infinirtGraphInstantiateResult result_out

struct infinirtGraphExecUpdateResultInfo_st [24 bytes]
    enum infinirtGraphExecUpdateResult result
    infinirtGraphNode_t errorNode
    infinirtGraphNode_t errorFromNode
"""
