"""Enums."""

ENUMS = """
enum infinirtChannelFormatKind  Formats of array elements.
    infinirtChannelFormatKindSigned = 0
    infinirtChannelFormatKindUnsigned = 1
    infinirtChannelFormatKindFloat = 2
    infinirtChannelFormatKindNone = 3
    infinirtChannelFormatKindNV12 = 4
    infinirtChannelFormatKindUnsignedNormalized8X1 = 5
    infinirtChannelFormatKindUnsignedNormalized8X2 = 6
    infinirtChannelFormatKindUnsignedNormalized8X4 = 7
    infinirtChannelFormatKindUnsignedNormalized16X1 = 8
    infinirtChannelFormatKindUnsignedNormalized16X2 = 9
    infinirtChannelFormatKindUnsignedNormalized16X4 = 10
    infinirtChannelFormatKindSignedNormalized8X1 = 11
    infinirtChannelFormatKindSignedNormalized8X2 = 12
    infinirtChannelFormatKindSignedNormalized8X4 = 13
    infinirtChannelFormatKindSignedNormalized16X1 = 14
    infinirtChannelFormatKindSignedNormalized16X2 = 15
    infinirtChannelFormatKindSignedNormalized16X4 = 16
    infinirtChannelFormatKindUnsignedBlockCompressed1 = 17
    infinirtChannelFormatKindUnsignedBlockCompressed1SRGB = 18
    infinirtChannelFormatKindUnsignedBlockCompressed2 = 19
    infinirtChannelFormatKindUnsignedBlockCompressed2SRGB = 20
    infinirtChannelFormatKindUnsignedBlockCompressed3 = 21
    infinirtChannelFormatKindUnsignedBlockCompressed3SRGB = 22
    infinirtChannelFormatKindUnsignedBlockCompressed4 = 23
    infinirtChannelFormatKindSignedBlockCompressed4 = 24
    infinirtChannelFormatKindUnsignedBlockCompressed5 = 25
    infinirtChannelFormatKindSignedBlockCompressed5 = 26
    infinirtChannelFormatKindUnsignedBlockCompressed6H = 27
    infinirtChannelFormatKindSignedBlockCompressed6H = 28
    infinirtChannelFormatKindUnsignedBlockCompressed7 = 29
    infinirtChannelFormatKindUnsignedBlockCompressed7SRGB = 30
    infinirtChannelFormatKindUnsignedNormalized1010102 = 31

enum infinirtMemoryType  Where memory lies.
    infinirtMemoryTypeUnregistered = 0
    infinirtMemoryTypeHost = 1
    infinirtMemoryTypeDevice = 2
    infinirtMemoryTypeManaged = 3

enum infinirtMemcpyKind  Which way a copy goes.
    infinirtMemcpyHostToHost = 0
    infinirtMemcpyHostToDevice = 1
    infinirtMemcpyDeviceToHost = 2
    infinirtMemcpyDeviceToDevice = 3
    infinirtMemcpyDefault = 4

enum infinirtAccessProperty  How the second-level cache treats accesses.
    infinirtAccessPropertyNormal = 0
    infinirtAccessPropertyStreaming = 1
    infinirtAccessPropertyPersisting = 2

enum infinirtStreamCaptureStatus  Whether a stream is recording.
    infinirtStreamCaptureStatusNone = 0
    infinirtStreamCaptureStatusActive = 1
    infinirtStreamCaptureStatusInvalidated = 2

enum infinirtStreamCaptureMode  Whose unsafe calls a capture refuses.
    infinirtStreamCaptureModeGlobal = 0
    infinirtStreamCaptureModeThreadLocal = 1
    infinirtStreamCaptureModeRelaxed = 2

enum infinirtSynchronizationPolicy  How a thread waits.
    infinirtSyncPolicyAuto = 1
    infinirtSyncPolicySpin = 2
    infinirtSyncPolicyYield = 3
    infinirtSyncPolicyBlockingSync = 4

enum infinirtClusterSchedulingPolicy  How the blocks of a cluster are placed.
    infinirtClusterSchedulingPolicyDefault = 0
    infinirtClusterSchedulingPolicySpread = 1
    infinirtClusterSchedulingPolicyLoadBalancing = 2

enum infinirtStreamUpdateCaptureDependenciesFlags  What to do with the given nodes.
    infinirtStreamAddCaptureDependencies = 0
    infinirtStreamSetCaptureDependencies = 1

enum infinirtUserObjectFlags  Flags of UserObjectCreate.
    infinirtUserObjectNoDestructorSync = 1

enum infinirtUserObjectRetainFlags  Flags of GraphRetainUserObject.
    infinirtGraphUserObjectMove = 1

enum infinirtFuncAttribute  Attributes of kernels.
    infinirtFuncAttributeMaxDynamicSharedMemorySize = 8
    infinirtFuncAttributePreferredSharedMemoryCarveout = 9
    infinirtFuncAttributeClusterDimMustBeSet = 10
    infinirtFuncAttributeRequiredClusterWidth = 11
    infinirtFuncAttributeRequiredClusterHeight = 12
    infinirtFuncAttributeRequiredClusterDepth = 13
    infinirtFuncAttributeNonPortableClusterSizeAllowed = 14
    infinirtFuncAttributeClusterSchedulingPolicyPreference = 15
    infinirtFuncAttributeMax = 16

enum infinirtFuncCache  Preferred split between cache and shared memory.
    infinirtFuncCachePreferNone = 0
    infinirtFuncCachePreferShared = 1
    infinirtFuncCachePreferL1 = 2
    infinirtFuncCachePreferEqual = 3

enum infinirtSharedCarveout  Special shares of shared memory.
    infinirtSharedmemCarveoutDefault = -1
    infinirtSharedmemCarveoutMaxShared = 100
    infinirtSharedmemCarveoutMaxL1 = 0

enum infinirtSharedMemConfig  Width of shared-memory banks.
    infinirtSharedMemBankSizeDefault = 0
    infinirtSharedMemBankSizeFourByte = 1
    infinirtSharedMemBankSizeEightByte = 2

enum infinirtComputeMode  Who may use a device.
    infinirtComputeModeDefault = 0
    infinirtComputeModeExclusive = 1
    infinirtComputeModeProhibited = 2
    infinirtComputeModeExclusiveProcess = 3

enum infinirtLimit  Limits of a device.
    infinirtLimitStackSize = 0
    infinirtLimitPrintfFifoSize = 1
    infinirtLimitMallocHeapSize = 2
    infinirtLimitDevRuntimeSyncDepth = 3
    infinirtLimitDevRuntimePendingLaunchCount = 4
    infinirtLimitMaxL2FetchGranularity = 5
    infinirtLimitPersistingL2CacheSize = 6

enum infinirtMemoryAdvise  What can be said about the use of managed memory.
    infinirtMemAdviseSetReadMostly = 1
    infinirtMemAdviseUnsetReadMostly = 2
    infinirtMemAdviseSetPreferredLocation = 3
    infinirtMemAdviseUnsetPreferredLocation = 4
    infinirtMemAdviseSetAccessedBy = 5
    infinirtMemAdviseUnsetAccessedBy = 6

enum infinirtMemRangeAttribute  What can be asked about managed memory.
    infinirtMemRangeAttributeReadMostly = 1
    infinirtMemRangeAttributePreferredLocation = 2
    infinirtMemRangeAttributeAccessedBy = 3
    infinirtMemRangeAttributeLastPrefetchLocation = 4
    infinirtMemRangeAttributePreferredLocationType = 5
    infinirtMemRangeAttributePreferredLocationId = 6
    infinirtMemRangeAttributeLastPrefetchLocationType = 7
    infinirtMemRangeAttributeLastPrefetchLocationId = 8

enum infinirtFlushGPUDirectRDMAWritesOptions  Ways to flush writes of other devices.
    infinirtFlushGPUDirectRDMAWritesOptionHost = 1
    infinirtFlushGPUDirectRDMAWritesOptionMemOps = 2

enum infinirtGPUDirectRDMAWritesOrdering  Order of writes of other devices.
    infinirtGPUDirectRDMAWritesOrderingNone = 0
    infinirtGPUDirectRDMAWritesOrderingOwner = 100
    infinirtGPUDirectRDMAWritesOrderingAllDevices = 200

enum infinirtFlushGPUDirectRDMAWritesScope  For whom writes of other devices are flushed.
    infinirtFlushGPUDirectRDMAWritesToOwner = 100
    infinirtFlushGPUDirectRDMAWritesToAllDevices = 200

enum infinirtFlushGPUDirectRDMAWritesTarget  Whose writes are flushed.
    infinirtFlushGPUDirectRDMAWritesTargetCurrentDevice = 0

enum infinirtMemPoolAttr  Attributes of pools.
    infinirtMemPoolReuseFollowEventDependencies = 1
    infinirtMemPoolReuseAllowOpportunistic = 2
    infinirtMemPoolReuseAllowInternalDependencies = 3
    infinirtMemPoolAttrReleaseThreshold = 4
    infinirtMemPoolAttrReservedMemCurrent = 5
    infinirtMemPoolAttrReservedMemHigh = 6
    infinirtMemPoolAttrUsedMemCurrent = 7
    infinirtMemPoolAttrUsedMemHigh = 8

enum infinirtMemLocationType  Kinds of places for memory.
    infinirtMemLocationTypeInvalid = 0
    infinirtMemLocationTypeDevice = 1
    infinirtMemLocationTypeHost = 2
    infinirtMemLocationTypeHostNuma = 3
    infinirtMemLocationTypeHostNumaCurrent = 4

enum infinirtMemAccessFlags  Rights to memory.
    infinirtMemAccessFlagsProtNone = 0
    infinirtMemAccessFlagsProtRead = 1
    infinirtMemAccessFlagsProtReadWrite = 3

enum infinirtMemAllocationType  Kinds of allocations in pools.
    infinirtMemAllocationTypeInvalid = 0
    infinirtMemAllocationTypePinned = 1
    infinirtMemAllocationTypeMax = 2147483647

enum infinirtMemAllocationHandleType  Handles by which pools are shared.
    infinirtMemHandleTypeNone = 0
    infinirtMemHandleTypePosixFileDescriptor = 1
    infinirtMemHandleTypeWin32 = 2
    infinirtMemHandleTypeWin32Kmt = 4
    infinirtMemHandleTypeFabric = 8

enum infinirtGraphMemAttributeType  What can be asked about the memory of graphs.
    infinirtGraphMemAttrUsedMemCurrent = 0
    infinirtGraphMemAttrUsedMemHigh = 1
    infinirtGraphMemAttrReservedMemCurrent = 2
    infinirtGraphMemAttrReservedMemHigh = 3

enum infinirtMemcpyFlags  Flags of batched copies.
    infinirtMemcpyFlagDefault = 0
    infinirtMemcpyFlagPreferOverlapWithCompute = 1

enum infinirtMemcpySrcAccessOrder  When a batched copy may read its source.
    infinirtMemcpySrcAccessOrderInvalid = 0
    infinirtMemcpySrcAccessOrderStream = 1
    infinirtMemcpySrcAccessOrderDuringApiCall = 2
    infinirtMemcpySrcAccessOrderAny = 3
    infinirtMemcpySrcAccessOrderMax = 2147483647

enum infinirtMemcpy3DOperandType  What a batched copy of a box reads or writes.
    infinirtMemcpyOperandTypePointer = 1
    infinirtMemcpyOperandTypeArray = 2
    infinirtMemcpyOperandTypeMax = 2147483647

enum infinirtDeviceP2PAttr  What can be asked about the link between two devices.
    infinirtDevP2PAttrPerformanceRank = 1
    infinirtDevP2PAttrAccessSupported = 2
    infinirtDevP2PAttrNativeAtomicSupported = 3
    infinirtDevP2PAttrCudaArrayAccessSupported = 4

enum infinirtExternalMemoryHandleType  Kinds of external memory.
    infinirtExternalMemoryHandleTypeOpaqueFd = 1
    infinirtExternalMemoryHandleTypeOpaqueWin32 = 2
    infinirtExternalMemoryHandleTypeOpaqueWin32Kmt = 3
    infinirtExternalMemoryHandleTypeD3D12Heap = 4
    infinirtExternalMemoryHandleTypeD3D12Resource = 5
    infinirtExternalMemoryHandleTypeD3D11Resource = 6
    infinirtExternalMemoryHandleTypeD3D11ResourceKmt = 7
    infinirtExternalMemoryHandleTypeNvSciBuf = 8

enum infinirtExternalSemaphoreHandleType  Kinds of external semaphores.
    infinirtExternalSemaphoreHandleTypeOpaqueFd = 1
    infinirtExternalSemaphoreHandleTypeOpaqueWin32 = 2
    infinirtExternalSemaphoreHandleTypeOpaqueWin32Kmt = 3
    infinirtExternalSemaphoreHandleTypeD3D12Fence = 4
    infinirtExternalSemaphoreHandleTypeD3D11Fence = 5
    infinirtExternalSemaphoreHandleTypeNvSciSync = 6
    infinirtExternalSemaphoreHandleTypeKeyedMutex = 7
    infinirtExternalSemaphoreHandleTypeKeyedMutexKmt = 8
    infinirtExternalSemaphoreHandleTypeTimelineSemaphoreFd = 9
    infinirtExternalSemaphoreHandleTypeTimelineSemaphoreWin32 = 10

enum infinirtJitOption  Options for loading device code.
    infinirtJitMaxRegisters = 0
    infinirtJitThreadsPerBlock = 1
    infinirtJitWallTime = 2
    infinirtJitInfoLogBuffer = 3
    infinirtJitInfoLogBufferSizeBytes = 4
    infinirtJitErrorLogBuffer = 5
    infinirtJitErrorLogBufferSizeBytes = 6
    infinirtJitOptimizationLevel = 7
    infinirtJitFallbackStrategy = 10
    infinirtJitGenerateDebugInfo = 11
    infinirtJitLogVerbose = 12
    infinirtJitGenerateLineInfo = 13
    infinirtJitCacheMode = 14
    infinirtJitPositionIndependentCode = 30
    infinirtJitMinCtaPerSm = 31
    infinirtJitMaxThreadsPerBlock = 32
    infinirtJitOverrideDirectiveValues = 33

enum infinirtJit_CacheMode  Cache modes for loading device code.
    infinirtJitCacheOptionNone = 0
    infinirtJitCacheOptionCG = 1
    infinirtJitCacheOptionCA = 2

enum infinirtJit_Fallback  What to prefer when loading device code.
    infinirtPreferPtx = 0
    infinirtPreferBinary = 1

enum infinirtLibraryOption  Options of libraries of device code.
    infinirtLibraryHostUniversalFunctionAndDataTable = 0
    infinirtLibraryBinaryIsPreserved = 1

enum infinirtGraphConditionalHandleFlags  Flags of conditions.
    infinirtGraphCondAssignDefault = 1

enum infinirtGraphConditionalNodeType  Kinds of conditional nodes.
    infinirtGraphCondTypeIf = 0
    infinirtGraphCondTypeWhile = 1
    infinirtGraphCondTypeSwitch = 2

enum infinirtGraphNodeType  What a node does.
    infinirtGraphNodeTypeKernel = 0
    infinirtGraphNodeTypeMemcpy = 1
    infinirtGraphNodeTypeMemset = 2
    infinirtGraphNodeTypeHost = 3
    infinirtGraphNodeTypeGraph = 4
    infinirtGraphNodeTypeEmpty = 5
    infinirtGraphNodeTypeWaitEvent = 6
    infinirtGraphNodeTypeEventRecord = 7
    infinirtGraphNodeTypeExtSemaphoreSignal = 8
    infinirtGraphNodeTypeExtSemaphoreWait = 9
    infinirtGraphNodeTypeMemAlloc = 10
    infinirtGraphNodeTypeMemFree = 11
    infinirtGraphNodeTypeConditional = 13
    infinirtGraphNodeTypeCount = 14

enum infinirtGraphDependencyType_enum  Kinds of edges, for infinirtGraphEdgeData.
    infinirtGraphDependencyTypeDefault = 0
    infinirtGraphDependencyTypeProgrammatic = 1

enum infinirtGraphChildGraphNodeOwnership  Whether the node copies its graph.
    infinirtGraphChildGraphOwnershipClone = 0
    infinirtGraphChildGraphOwnershipMove = 1

enum infinirtGraphExecUpdateResult  How an update ended.
    infinirtGraphExecUpdateSuccess = 0
    infinirtGraphExecUpdateError = 1
    infinirtGraphExecUpdateErrorTopologyChanged = 2
    infinirtGraphExecUpdateErrorNodeTypeChanged = 3
    infinirtGraphExecUpdateErrorFunctionChanged = 4
    infinirtGraphExecUpdateErrorParametersChanged = 5
    infinirtGraphExecUpdateErrorNotSupported = 6
    infinirtGraphExecUpdateErrorUnsupportedFunctionChange = 7
    infinirtGraphExecUpdateErrorAttributesChanged = 8

enum infinirtGraphInstantiateResult  How an instantiation ended.
    infinirtGraphInstantiateSuccess = 0
    infinirtGraphInstantiateError = 1
    infinirtGraphInstantiateInvalidStructure = 2
    infinirtGraphInstantiateNodeOperationNotSupported = 3
    infinirtGraphInstantiateMultipleDevicesNotSupported = 4
    infinirtGraphInstantiateConditionalHandleUnused = 5

enum infinirtGetDriverEntryPointFlags  Flags of GetDriverEntryPoint.
    infinirtEnableDefault = 0
    infinirtEnableLegacyStream = 1
    infinirtEnablePerThreadDefaultStream = 2

enum infinirtDriverEntryPointQueryResult  How GetDriverEntryPoint ended.
    infinirtDriverEntryPointSuccess = 0
    infinirtDriverEntryPointSymbolNotFound = 1
    infinirtDriverEntryPointVersionNotSufficent = 2

enum infinirtGraphDebugDotFlags  Details that GraphDebugDotPrint writes.
    infinirtGraphDebugDotFlagsVerbose = 1
    infinirtGraphDebugDotFlagsKernelNodeParams = 4
    infinirtGraphDebugDotFlagsMemcpyNodeParams = 8
    infinirtGraphDebugDotFlagsMemsetNodeParams = 16
    infinirtGraphDebugDotFlagsHostNodeParams = 32
    infinirtGraphDebugDotFlagsEventNodeParams = 64
    infinirtGraphDebugDotFlagsExtSemasSignalNodeParams = 128
    infinirtGraphDebugDotFlagsExtSemasWaitNodeParams = 256
    infinirtGraphDebugDotFlagsKernelNodeAttributes = 512
    infinirtGraphDebugDotFlagsHandles = 1024
    infinirtGraphDebugDotFlagsConditionalNodeParams = 32768

enum infinirtGraphInstantiateFlags  Flags of instantiation.
    infinirtGraphInstantiateFlagAutoFreeOnLaunch = 1
    infinirtGraphInstantiateFlagUpload = 2
    infinirtGraphInstantiateFlagDeviceLaunch = 4
    infinirtGraphInstantiateFlagUseNodePriority = 8

enum infinirtLaunchMemSyncDomain  Domains of memory order.
    infinirtLaunchMemSyncDomainDefault = 0
    infinirtLaunchMemSyncDomainRemote = 1

enum infinirtLaunchAttributeID  Attributes of launches, streams and kernel nodes.
    infinirtLaunchAttributeIgnore = 0
    infinirtLaunchAttributeAccessPolicyWindow = 1
    infinirtLaunchAttributeCooperative = 2
    infinirtLaunchAttributeSynchronizationPolicy = 3
    infinirtLaunchAttributeClusterDimension = 4
    infinirtLaunchAttributeClusterSchedulingPolicyPreference = 5
    infinirtLaunchAttributeProgrammaticStreamSerialization = 6
    infinirtLaunchAttributeProgrammaticEvent = 7
    infinirtLaunchAttributePriority = 8
    infinirtLaunchAttributeMemSyncDomainMap = 9
    infinirtLaunchAttributeMemSyncDomain = 10
    infinirtLaunchAttributePreferredClusterDimension = 11
    infinirtLaunchAttributeLaunchCompletionEvent = 12
    infinirtLaunchAttributeDeviceUpdatableKernelNode = 13
    infinirtLaunchAttributePreferredSharedMemoryCarveout = 14

enum infinirtDeviceNumaConfig  How a device's memory appears to the host.
    infinirtDeviceNumaConfigNone = 0
    infinirtDeviceNumaConfigNumaNode = 1

enum infinirtAsyncNotificationType_enum  Notices of the driver.
    infinirtAsyncNotificationTypeOverBudget = 1
"""
