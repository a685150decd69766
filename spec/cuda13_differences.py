"""Where CUDA 13 differs from the declarations of this API, which are those of CUDA 12.9.

`+` is new in 13, `-` was removed, `~` has changed to the given form. All new functions are listed,
but only those types that this API declares. A test compares these lists with NVIDIA's headers.

These lists determine how a program for 12.9 runs on a library of 13: see
spec/generate/forwarding.py. INSTEAD and ATTRIBUTES add the replacements of removed functions and
members.
"""

VERSION = "13.4"

FUNCTIONS = """
- ThreadExit
- ThreadSynchronize
- ThreadSetLimit
- ThreadGetLimit
- ThreadGetCacheConfig
- ThreadSetCacheConfig
- EventElapsedTime_v2
- MemPrefetchAsync_v2
- MemAdvise_v2
- StreamGetCaptureInfo_v3
- StreamUpdateCaptureDependencies_v2
- GraphGetEdges_v2
- GraphNodeGetDependencies_v2
- GraphNodeGetDependentNodes_v2
- GraphAddDependencies_v2
- GraphRemoveDependencies_v2
- GraphAddNode_v2
- LaunchCooperativeKernelMultiDevice
~ StreamGetCaptureInfo(infinirtStream_t stream, enum infinirtStreamCaptureStatus *captureStatus_out,
        unsigned long long *id_out, infinirtGraph_t *graph_out,
        const infinirtGraphNode_t **dependencies_out, const infinirtGraphEdgeData **edgeData_out,
        size_t *numDependencies_out)
~ StreamUpdateCaptureDependencies(infinirtStream_t stream, infinirtGraphNode_t *dependencies,
        const infinirtGraphEdgeData *dependencyData, size_t numDependencies, unsigned int flags)
~ MemcpyBatchAsync(void *const *dsts, const void *const *srcs, const size_t *sizes, size_t count,
        struct infinirtMemcpyAttributes *attrs, size_t *attrsIdxs, size_t numAttrs,
        infinirtStream_t stream)
~ Memcpy3DBatchAsync(size_t numOps, struct infinirtMemcpy3DBatchOp *opList,
        unsigned long long flags, infinirtStream_t stream)
~ MemPrefetchAsync(const void *devPtr, size_t count, struct infinirtMemLocation location,
        unsigned int flags, infinirtStream_t stream)
~ MemAdvise(const void *devPtr, size_t count, enum infinirtMemoryAdvise advice,
        struct infinirtMemLocation location)
~ GraphKernelNodeCopyAttributes(infinirtGraphNode_t hDst, infinirtGraphNode_t hSrc)
~ GraphGetEdges(infinirtGraph_t graph, infinirtGraphNode_t *from, infinirtGraphNode_t *to,
        infinirtGraphEdgeData *edgeData, size_t *numEdges)
~ GraphNodeGetDependencies(infinirtGraphNode_t node, infinirtGraphNode_t *pDependencies,
        infinirtGraphEdgeData *edgeData, size_t *pNumDependencies)
~ GraphNodeGetDependentNodes(infinirtGraphNode_t node, infinirtGraphNode_t *pDependentNodes,
        infinirtGraphEdgeData *edgeData, size_t *pNumDependentNodes)
~ GraphAddDependencies(infinirtGraph_t graph, const infinirtGraphNode_t *from,
        const infinirtGraphNode_t *to, const infinirtGraphEdgeData *edgeData,
        size_t numDependencies)
~ GraphRemoveDependencies(infinirtGraph_t graph, const infinirtGraphNode_t *from,
        const infinirtGraphNode_t *to, const infinirtGraphEdgeData *edgeData,
        size_t numDependencies)
~ GraphAddNode(infinirtGraphNode_t *pGraphNode, infinirtGraph_t graph,
        const infinirtGraphNode_t *pDependencies, const infinirtGraphEdgeData *dependencyData,
        size_t numDependencies, struct infinirtGraphNodeParams *nodeParams)
+ DeviceGetHostAtomicCapabilities
+ DeviceGetP2PAtomicCapabilities
+ StreamBeginRecaptureToGraph
+ FuncGetParamCount
+ LaunchHostFunc_v2
+ MemcpyWithAttributesAsync
+ Memcpy3DWithAttributesAsync
+ MemPrefetchBatchAsync
+ MemDiscardBatchAsync
+ MemDiscardAndPrefetchBatchAsync
+ MemGetLocationInfo
+ MemGetDefaultMemPool
+ MemGetMemPool
+ MemSetMemPool
+ LogsRegisterCallback
+ LogsUnregisterCallback
+ LogsCurrent
+ LogsDumpToFile
+ LogsDumpToMemory
+ GraphNodeGetContainingGraph
+ GraphNodeGetLocalId
+ GraphNodeGetToolsId
+ GraphGetId
+ GraphExecGetId
+ GraphNodeGetParams
+ GraphConditionalHandleCreate_v2
+ DeviceGetDevResource
+ DevSmResourceSplitByCount
+ DevSmResourceSplit
+ DevResourceGenerateDesc
+ GreenCtxCreate
+ ExecutionCtxDestroy
+ ExecutionCtxGetDevResource
+ ExecutionCtxGetDevice
+ ExecutionCtxGetId
+ ExecutionCtxStreamCreate
+ ExecutionCtxSynchronize
+ StreamGetDevResource
+ ExecutionCtxRecordEvent
+ ExecutionCtxWaitEvent
+ DeviceGetExecutionCtx
"""

ENUMS = """
infinirtError
    + infinirtErrorVersionTranslation = 10
    + infinirtErrorInsufficientLoaderVersion = 227
    + infinirtErrorStreamDetached = 917
    + infinirtErrorGraphRecaptureFailure = 918
    + infinirtErrorFabricNotReady = 919

infinirtChannelFormatKind
    + infinirtChannelFormatKindUnsigned8Packed422 = 32
    + infinirtChannelFormatKindUnsigned8Packed444 = 33
    + infinirtChannelFormatKindUnsigned8SemiPlanar420 = 34
    + infinirtChannelFormatKindUnsigned16SemiPlanar420 = 35
    + infinirtChannelFormatKindUnsigned8SemiPlanar422 = 36
    + infinirtChannelFormatKindUnsigned16SemiPlanar422 = 37
    + infinirtChannelFormatKindUnsigned8SemiPlanar444 = 38
    + infinirtChannelFormatKindUnsigned16SemiPlanar444 = 39
    + infinirtChannelFormatKindUnsigned8Planar420 = 40
    + infinirtChannelFormatKindUnsigned16Planar420 = 41
    + infinirtChannelFormatKindUnsigned8Planar422 = 42
    + infinirtChannelFormatKindUnsigned16Planar422 = 43
    + infinirtChannelFormatKindUnsigned8Planar444 = 44
    + infinirtChannelFormatKindUnsigned16Planar444 = 45

infinirtClusterSchedulingPolicy
    + infinirtClusterSchedulingPolicyRubinDsmemLocality = 3

infinirtFuncAttribute
    + infinirtFuncAttributeSharedMemoryMode = 16
    ~ infinirtFuncAttributeMax = 17

infinirtLimit
    + infinirtLimitPerBlockMemorySize = 10

infinirtMemPoolAttr
    + infinirtMemPoolAttrAllocationType = 9
    + infinirtMemPoolAttrExportHandleTypes = 10
    + infinirtMemPoolAttrLocationId = 11
    + infinirtMemPoolAttrLocationType = 12
    + infinirtMemPoolAttrMaxPoolSize = 13
    + infinirtMemPoolAttrHwDecompressEnabled = 14
    + infinirtMemPoolAttrLocalityDomainId = 15

infinirtMemLocationType
    + infinirtMemLocationTypeNone = 0
    + infinirtMemLocationTypeInvisible = 5
    + infinirtMemLocationTypeDeviceLocalityDomain = 6

infinirtMemAllocationType
    + infinirtMemAllocationTypeManaged = 2

infinirtDeviceP2PAttr
    + infinirtDevP2PAttrOnlyPartialNativeAtomicSupported = 5

infinirtGraphNodeType
    + infinirtGraphNodeTypeReserved16 = 16
    ~ infinirtGraphNodeTypeCount = 17

infinirtGraphChildGraphNodeOwnership
    + infinirtGraphChildGraphOwnershipInvalid = -1

infinirtLaunchAttributeID
    + infinirtLaunchAttributeNvlinkUtilCentricScheduling = 16
    + infinirtLaunchAttributePortableClusterSizeMode = 17
    + infinirtLaunchAttributeSharedMemoryMode = 18

infinirtDeviceAttr
    - infinirtDevAttrCooperativeMultiDeviceLaunch
    - infinirtDevAttrMaxTimelineSemaphoreInteropSupported
    + infinirtDevAttrReserved96 = 96
    + infinirtDevAttrHostMemoryPoolsSupported = 144
    + infinirtDevAttrReserved145 = 145
    + infinirtDevAttrOnlyPartialHostNativeAtomicSupported = 147
    + infinirtDevAttrAtomicReductionSupported = 148
    + infinirtDevAttrLocalityDomainCount = 149
    + infinirtDevAttrOversizedSharedMemoryPerBlock = 150
    + infinirtDevAttrCigStreamsSupported = 151
    + infinirtDevAttrLocalityDomainMultiprocessorCount = 157
    ~ infinirtDevAttrMax = 158
"""

STRUCTS = """
infinirtPointerAttributes: 24 -> 88 bytes
    + int localityDomainOrdinal
    + long unused
    + long reserved[7]

infinirtFuncAttributes: 144 -> 144 bytes
    - int reserved[16]
    + int deviceNodeUpdateStatus
    + infinirtSharedMemoryMode sharedMemoryMode
    + int reserved[14]

infinirtMemLocation: 8 -> 8 bytes
    + struct localized
    + unsigned char localized.deviceId
    + unsigned char localized.localityDomainId

infinirtDeviceProp: 1032 -> 1008 bytes
    - int clockRate
    - int deviceOverlap
    - int kernelExecTimeoutEnabled
    - int computeMode
    - int maxTexture1DLinear
    - int memoryClockRate
    - int singleToDoublePrecisionPerfRatio
    - int cooperativeMultiDeviceLaunch
    - int reserved[63]
    + int deviceNumaConfig
    + int deviceNumaId
    + int mpsEnabled
    + int hostNumaId
    + unsigned int gpuPciDeviceID
    + unsigned int gpuPciSubsystemID
    + int hostNumaMultinodeIpcSupported
    + int reserved[56]

infinirtMemcpyNodeParams: 176 -> 176 bytes
    - int reserved[3]
    + int reserved
    + infinirtExecutionContext_t ctx

infinirtMemsetParamsV2: 40 -> 48 bytes
    + infinirtExecutionContext_t ctx

infinirtHostNodeParamsV2: 16 -> 32 bytes
    + unsigned int syncMode
    + infinirtExecutionContext_t ctx

infinirtKernelNodeParamsV2: 56 -> 72 bytes
    + infinirtKernel_t kern
    + infinirtFunction_t cuFunc
    + infinirtExecutionContext_t ctx
    + enum infinirtKernelFunctionType functionType

infinirtExternalSemaphoreSignalNodeParamsV2: 24 -> 32 bytes
    + infinirtExecutionContext_t ctx

infinirtExternalSemaphoreWaitNodeParamsV2: 24 -> 32 bytes
    + infinirtExecutionContext_t ctx

infinirtConditionalNodeParams: 24 -> 32 bytes
    + infinirtExecutionContext_t ctx

infinirtEventRecordNodeParams: 8 -> 16 bytes
    + infinirtExecutionContext_t ctx

infinirtExternalMemoryHandleDesc: 40 -> 104 bytes
    + unsigned int reserved[16]

infinirtExternalMemoryBufferDesc: 24 -> 88 bytes
    + unsigned int reserved[16]

infinirtExternalMemoryMipmappedArrayDesc: 64 -> 128 bytes
    + unsigned int reserved[16]

infinirtExternalSemaphoreHandleDesc: 32 -> 96 bytes
    + unsigned int reserved[16]

- infinirtLaunchParams

infinirtLaunchAttributeValue: 64 -> 64 bytes
    + unsigned int nvlinkUtilCentricScheduling
    + infinirtLaunchAttributePortableClusterMode portableClusterSizeMode
    + infinirtSharedMemoryMode sharedMemoryMode
"""

NAMES = """
- infinirtGetDeviceProperties
- infinirtStreamGetCaptureInfo
- infinirtSignalExternalSemaphoresAsync
- infinirtWaitExternalSemaphoresAsync
- infinirtCooperativeLaunchMultiDeviceNoPreSync
- infinirtCooperativeLaunchMultiDeviceNoPostSync
"""

# Removed functions without a direct successor, and their replacements.
INSTEAD = {
    "ThreadExit": "DeviceReset",
    "ThreadSynchronize": "DeviceSynchronize",
    "ThreadSetLimit": "DeviceSetLimit",
    "ThreadGetLimit": "DeviceGetLimit",
    "ThreadGetCacheConfig": "DeviceGetCacheConfig",
    "ThreadSetCacheConfig": "DeviceSetCacheConfig",
}

# Removed members of infinirtDeviceProp, and the equivalent device attributes.
ATTRIBUTES = {
    "clockRate": "ClockRate",
    "deviceOverlap": "GpuOverlap",
    "kernelExecTimeoutEnabled": "KernelExecTimeout",
    "computeMode": "ComputeMode",
    "maxTexture1DLinear": "MaxTexture1DLinearWidth",
    "memoryClockRate": "MemoryClockRate",
    "singleToDoublePrecisionPerfRatio": "SingleToDoublePrecisionPerfRatio",
}
