"""Flags and special values that CUDA defines with the preprocessor."""

MACROS = """
# HostAlloc
infinirtHostAllocDefault = 0x00
infinirtHostAllocPortable = 0x01
infinirtHostAllocMapped = 0x02
infinirtHostAllocWriteCombined = 0x04

# HostRegister
infinirtHostRegisterDefault = 0x00
infinirtHostRegisterPortable = 0x01
infinirtHostRegisterMapped = 0x02
infinirtHostRegisterIoMemory = 0x04
infinirtHostRegisterReadOnly = 0x08

# Streams, and two handles that always exist
infinirtStreamDefault = 0x00
infinirtStreamNonBlocking = 0x01
infinirtStreamLegacy = ((infinirtStream_t)0x1)
infinirtStreamPerThread = ((infinirtStream_t)0x2)

# Events: making, recording, waiting
infinirtEventDefault = 0x00
infinirtEventBlockingSync = 0x01
infinirtEventDisableTiming = 0x02
infinirtEventInterprocess = 0x04
infinirtEventRecordDefault = 0x00
infinirtEventRecordExternal = 0x01
infinirtEventWaitDefault = 0x00
infinirtEventWaitExternal = 0x01

# SetDeviceFlags, InitDevice
infinirtDeviceScheduleAuto = 0x00
infinirtDeviceScheduleSpin = 0x01
infinirtDeviceScheduleYield = 0x02
infinirtDeviceScheduleBlockingSync = 0x04
infinirtDeviceBlockingSync = 0x04
infinirtDeviceScheduleMask = 0x07
infinirtDeviceMapHost = 0x08
infinirtDeviceLmemResizeToMax = 0x10
infinirtDeviceSyncMemops = 0x80
infinirtDeviceMask = 0xff
infinirtInitDeviceFlagsAreValid = 0x01

# Numbers that stand for no device
infinirtCpuDeviceId = ((int)-1)
infinirtInvalidDeviceId = ((int)-2)

# Peers, other processes, managed memory, pools
infinirtPeerAccessDefault = 0x00
infinirtIpcMemLazyEnablePeerAccess = 0x01
infinirtMemAttachGlobal = 0x01
infinirtMemAttachHost = 0x02
infinirtMemAttachSingle = 0x04
infinirtMemPoolCreateUsageHwDecompress = 0x2

# Arrays
infinirtArrayDefault = 0x00
infinirtArrayLayered = 0x01
infinirtArraySurfaceLoadStore = 0x02
infinirtArrayCubemap = 0x04
infinirtArrayTextureGather = 0x08
infinirtArrayColorAttachment = 0x20
infinirtArraySparse = 0x40
infinirtArrayDeferredMapping = 0x80
infinirtArraySparsePropertiesSingleMipTail = 0x1

# Kernels, external memory
infinirtOccupancyDefault = 0x00
infinirtOccupancyDisableCachingOverride = 0x01
infinirtCooperativeLaunchMultiDeviceNoPreSync = 0x01
infinirtCooperativeLaunchMultiDeviceNoPostSync = 0x02
infinirtExternalMemoryDedicated = 0x1

# Ports of the edges that leave kernel nodes
infinirtGraphKernelNodePortDefault = 0
infinirtGraphKernelNodePortProgrammatic = 1
infinirtGraphKernelNodePortLaunchCompletion = 2

# Launch attributes by the names that they have for streams
infinirtStreamAttrID = infinirtLaunchAttributeID
infinirtStreamAttributeAccessPolicyWindow = infinirtLaunchAttributeAccessPolicyWindow
infinirtStreamAttributeSynchronizationPolicy = infinirtLaunchAttributeSynchronizationPolicy
infinirtStreamAttributeMemSyncDomainMap = infinirtLaunchAttributeMemSyncDomainMap
infinirtStreamAttributeMemSyncDomain = infinirtLaunchAttributeMemSyncDomain
infinirtStreamAttributePriority = infinirtLaunchAttributePriority
infinirtStreamAttrValue = infinirtLaunchAttributeValue

# Launch attributes by the names that they have for kernel nodes
infinirtKernelNodeAttrID = infinirtLaunchAttributeID
infinirtKernelNodeAttributeAccessPolicyWindow = infinirtLaunchAttributeAccessPolicyWindow
infinirtKernelNodeAttributeCooperative = infinirtLaunchAttributeCooperative
infinirtKernelNodeAttributePriority = infinirtLaunchAttributePriority
infinirtKernelNodeAttributeClusterDimension = infinirtLaunchAttributeClusterDimension
infinirtKernelNodeAttributeClusterSchedulingPolicyPreference =
        infinirtLaunchAttributeClusterSchedulingPolicyPreference
infinirtKernelNodeAttributeMemSyncDomainMap = infinirtLaunchAttributeMemSyncDomainMap
infinirtKernelNodeAttributeMemSyncDomain = infinirtLaunchAttributeMemSyncDomain
infinirtKernelNodeAttributePreferredSharedMemoryCarveout =
        infinirtLaunchAttributePreferredSharedMemoryCarveout
infinirtKernelNodeAttributeDeviceUpdatableKernelNode =
        infinirtLaunchAttributeDeviceUpdatableKernelNode
infinirtKernelNodeAttrValue = infinirtLaunchAttributeValue
"""
