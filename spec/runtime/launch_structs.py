"""Structs for launches, external objects and notices."""

STRUCTS = """
struct infinirtExternalMemoryHandleDesc [40 bytes]
    enum infinirtExternalMemoryHandleType type
    union handle:
        int fd
        struct win32:
            void *handle
            const void *name
        const void *nvSciBufObject
    unsigned long long size
    unsigned int flags

struct infinirtExternalMemoryBufferDesc [24 bytes]
    unsigned long long offset
    unsigned long long size
    unsigned int flags

struct infinirtExternalMemoryMipmappedArrayDesc [64 bytes]
    unsigned long long offset
    struct infinirtChannelFormatDesc formatDesc
    struct infinirtExtent extent
    unsigned int flags
    unsigned int numLevels

struct infinirtExternalSemaphoreHandleDesc [32 bytes]
    enum infinirtExternalSemaphoreHandleType type
    union handle:
        int fd
        struct win32:
            void *handle
            const void *name
        const void *nvSciSyncObj
    unsigned int flags

struct infinirtExternalSemaphoreSignalParams [144 bytes]
    struct params:
        struct fence:
            unsigned long long value
        union nvSciSync:
            void *fence
            unsigned long long reserved
        struct keyedMutex:
            unsigned long long key
        unsigned int reserved[12]
    unsigned int flags
    unsigned int reserved[16]

struct infinirtExternalSemaphoreWaitParams [144 bytes]
    struct params:
        struct fence:
            unsigned long long value
        union nvSciSync:
            void *fence
            unsigned long long reserved
        struct keyedMutex:
            unsigned long long key
            unsigned int timeoutMs
        unsigned int reserved[10]
    unsigned int flags
    unsigned int reserved[16]

struct infinirtLaunchParams [56 bytes]
    void *func
    dim3 gridDim
    dim3 blockDim
    void **args
    size_t sharedMem
    infinirtStream_t stream

struct infinirtLaunchMemSyncDomainMap_st [2 bytes]
    unsigned char default_
    unsigned char remote

union infinirtLaunchAttributeValue [64 bytes]
    char pad[64]
    struct infinirtAccessPolicyWindow accessPolicyWindow
    int cooperative
    enum infinirtSynchronizationPolicy syncPolicy
    struct clusterDim:
        unsigned int x
        unsigned int y
        unsigned int z
    enum infinirtClusterSchedulingPolicy clusterSchedulingPolicyPreference
    int programmaticStreamSerializationAllowed
    struct programmaticEvent:
        infinirtEvent_t event
        int flags
        int triggerAtBlockStart
    int priority
    infinirtLaunchMemSyncDomainMap memSyncDomainMap
    infinirtLaunchMemSyncDomain memSyncDomain
    struct preferredClusterDim:
        unsigned int x
        unsigned int y
        unsigned int z
    struct launchCompletionEvent:
        infinirtEvent_t event
        int flags
    struct deviceUpdatableKernelNode:
        int deviceUpdatable
        infinirtGraphDeviceNode_t devNode
    unsigned int sharedMemCarveout

struct infinirtLaunchAttribute_st [72 bytes]
    infinirtLaunchAttributeID id
    char pad[4]
    infinirtLaunchAttributeValue val

struct infinirtLaunchConfig_st [56 bytes]
    dim3 gridDim
    dim3 blockDim
    size_t dynamicSmemBytes
    infinirtStream_t stream
    infinirtLaunchAttribute *attrs
    unsigned int numAttrs

struct infinirtAsyncNotificationInfo [16 bytes]
    infinirtAsyncNotificationType type
    union info:
        struct overBudget:
            unsigned long long bytesOverBudget
"""
