"""Structs for memory, copies and handles. Sizes are those of 64-bit machines."""

STRUCTS = """
struct dim3 [12 bytes]
    unsigned int x
    unsigned int y
    unsigned int z

struct infinirtChannelFormatDesc [20 bytes]
    int x
    int y
    int z
    int w
    enum infinirtChannelFormatKind f

struct infinirtArraySparseProperties [48 bytes]
    struct tileExtent:
        unsigned int width
        unsigned int height
        unsigned int depth
    unsigned int miptailFirstLevel
    unsigned long long miptailSize
    unsigned int flags
    unsigned int reserved[4]

struct infinirtArrayMemoryRequirements [32 bytes]
    size_t size
    size_t alignment
    unsigned int reserved[4]

struct infinirtPitchedPtr [32 bytes]
    void *ptr
    size_t pitch
    size_t xsize
    size_t ysize

struct infinirtExtent [24 bytes]
    size_t width
    size_t height
    size_t depth

struct infinirtPos [24 bytes]
    size_t x
    size_t y
    size_t z

struct infinirtMemcpy3DParms [160 bytes]
    infinirtArray_t srcArray
    struct infinirtPos srcPos
    struct infinirtPitchedPtr srcPtr
    infinirtArray_t dstArray
    struct infinirtPos dstPos
    struct infinirtPitchedPtr dstPtr
    struct infinirtExtent extent
    enum infinirtMemcpyKind kind

struct infinirtMemcpy3DPeerParms [168 bytes]
    infinirtArray_t srcArray
    struct infinirtPos srcPos
    struct infinirtPitchedPtr srcPtr
    int srcDevice
    infinirtArray_t dstArray
    struct infinirtPos dstPos
    struct infinirtPitchedPtr dstPtr
    int dstDevice
    struct infinirtExtent extent

struct infinirtAccessPolicyWindow [32 bytes]
    void *base_ptr
    size_t num_bytes
    float hitRatio
    enum infinirtAccessProperty hitProp
    enum infinirtAccessProperty missProp

struct infinirtPointerAttributes [24 bytes]
    enum infinirtMemoryType type
    int device
    void *devicePointer
    void *hostPointer

struct infinirtFuncAttributes [144 bytes]
    size_t sharedSizeBytes
    size_t constSizeBytes
    size_t localSizeBytes
    int maxThreadsPerBlock
    int numRegs
    int ptxVersion
    int binaryVersion
    int cacheModeCA
    int maxDynamicSharedSizeBytes
    int preferredShmemCarveout
    int clusterDimMustBeSet
    int requiredClusterWidth
    int requiredClusterHeight
    int requiredClusterDepth
    int clusterSchedulingPolicyPreference
    int nonPortableClusterSizeAllowed
    int reserved[16]

struct infinirtMemLocation [8 bytes]
    enum infinirtMemLocationType type
    int id

struct infinirtMemAccessDesc [12 bytes]
    struct infinirtMemLocation location
    enum infinirtMemAccessFlags flags

struct infinirtMemPoolProps [88 bytes]
    enum infinirtMemAllocationType allocType
    enum infinirtMemAllocationHandleType handleTypes
    struct infinirtMemLocation location
    void *win32SecurityAttributes
    size_t maxSize
    unsigned short usage
    unsigned char reserved[54]

struct infinirtMemPoolPtrExportData [64 bytes]
    unsigned char reserved[64]

struct infinirtMemcpyAttributes [24 bytes]
    enum infinirtMemcpySrcAccessOrder srcAccessOrder
    struct infinirtMemLocation srcLocHint
    struct infinirtMemLocation dstLocHint
    unsigned int flags

struct infinirtOffset3D [24 bytes]
    size_t x
    size_t y
    size_t z

struct infinirtMemcpy3DOperand [40 bytes]
    enum infinirtMemcpy3DOperandType type
    union op:
        struct ptr:
            void *ptr
            size_t rowLength
            size_t layerHeight
            struct infinirtMemLocation locHint
        struct array:
            infinirtArray_t array
            struct infinirtOffset3D offset

struct infinirtMemcpy3DBatchOp [112 bytes]
    struct infinirtMemcpy3DOperand src
    struct infinirtMemcpy3DOperand dst
    struct infinirtExtent extent
    enum infinirtMemcpySrcAccessOrder srcAccessOrder
    unsigned int flags

struct infinirtUuid_st [16 bytes]
    char bytes[16]

struct infinirtIpcEventHandle_st [64 bytes]
    char reserved[64]

struct infinirtIpcMemHandle_st [64 bytes]
    char reserved[64]
"""
