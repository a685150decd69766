"""Handles, callbacks and short names of types."""

TYPEDEFS = """
# Handles that stand for objects of the runtime.
infinirtStream_t = struct infinirtStream_st *
infinirtEvent_t = struct infinirtEvent_st *
infinirtGraph_t = struct infinirtGraph_st *
infinirtGraphNode_t = struct infinirtGraphNode_st *
infinirtGraphExec_t = struct infinirtGraphExec_st *
infinirtGraphDeviceNode_t = struct infinirtGraphDeviceUpdatableNode_st *
infinirtGraphConditionalHandle = unsigned long long
infinirtUserObject_t = struct infinirtUserObject_st *
infinirtMemPool_t = struct infinirtMemPoolHandle_st *
infinirtArray_t = struct infinirtArray *
infinirtArray_const_t = const struct infinirtArray *
infinirtMipmappedArray_t = struct infinirtMipmappedArray *
infinirtMipmappedArray_const_t = const struct infinirtMipmappedArray *
infinirtExternalMemory_t = struct infinirtExternalMemory_st *
infinirtExternalSemaphore_t = struct infinirtExternalSemaphore_st *
infinirtFunction_t = struct infinirtFunc_st *
infinirtKernel_t = struct infinirtKern_st *
infinirtLibrary_t = struct infinirtLib_st *
infinirtAsyncCallbackHandle_t = struct infinirtAsyncCallbackEntry *

# Enums and structs by a name without `enum` or `struct`.
infinirtError_t = enum infinirtError
infinirtGraphInstantiateResult = enum infinirtGraphInstantiateResult
infinirtLaunchMemSyncDomain = enum infinirtLaunchMemSyncDomain
infinirtLaunchAttributeID = enum infinirtLaunchAttributeID
infinirtAsyncNotificationType = enum infinirtAsyncNotificationType_enum
infinirtUUID_t = struct infinirtUuid_st
infinirtIpcEventHandle_t = struct infinirtIpcEventHandle_st
infinirtIpcMemHandle_t = struct infinirtIpcMemHandle_st
infinirtGraphDependencyType = enum infinirtGraphDependencyType_enum
infinirtGraphEdgeData = struct infinirtGraphEdgeData_st
infinirtGraphInstantiateParams = struct infinirtGraphInstantiateParams_st
infinirtGraphExecUpdateResultInfo = struct infinirtGraphExecUpdateResultInfo_st
infinirtLaunchMemSyncDomainMap = struct infinirtLaunchMemSyncDomainMap_st
infinirtLaunchAttributeValue = union infinirtLaunchAttributeValue
infinirtLaunchAttribute = struct infinirtLaunchAttribute_st
infinirtLaunchConfig_t = struct infinirtLaunchConfig_st
infinirtAsyncNotificationInfo_t = struct infinirtAsyncNotificationInfo

# Functions that the runtime calls.
infinirtHostFn_t = void (*)(void *)
infinirtStreamCallback_t = void (*)(infinirtStream_t, infinirtError_t, void *)
infinirtAsyncCallback = void (*)(infinirtAsyncNotificationInfo_t *, void *,
        infinirtAsyncCallbackHandle_t)
"""
