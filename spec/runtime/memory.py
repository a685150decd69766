"""Memory: on devices, pitched, on the host, and managed."""

FUNCTIONS = """
Malloc(out void **devPtr, size_t size)
    Allocate memory of the current device, aligned for every type. Size 0 gives a null pointer.

MallocHost(out void **ptr, size_t size)
    Allocate pinned host memory, which copies fastest and every device of the process can reach.

MallocPitch(out void **devPtr, out size_t *pitch, size_t width, size_t height)
    Allocate rows of `width` bytes and tell the pitch, the distance in bytes from row to row.

Malloc3D(out struct infinirtPitchedPtr *pitchedDevPtr, struct infinirtExtent extent)
    Allocate a box of width (bytes) x height x depth with a suitable pitch.

MallocManaged(out void **devPtr, size_t size, unsigned int flags = infinirtMemAttachGlobal)
    Allocate memory that host and devices use by one pointer.

Free(ptr void *devPtr)
    Free device or managed memory. Null is allowed. Waits for work that may still use it.

FreeHost(ptr void *ptr)
    Free memory of MallocHost or HostAlloc. Null is allowed.

HostAlloc(out void **pHost, size_t size, unsigned int flags)
    Allocate pinned host memory: portable, mapped, write-combined.

HostRegister(ptr void *ptr, size_t size, unsigned int flags)
    Pin host memory that the program allocated itself.

HostUnregister(ptr void *ptr)
    Undo HostRegister; takes the address that was registered.

HostGetDevicePointer(out void **pDevice, ptr void *pHost, unsigned int flags)
    Tell the address by which the device reaches pinned host memory. `flags` must be 0.

HostGetFlags(out unsigned int *pFlags, ptr void *pHost)
    Tell the flags that pinned host memory was made or registered with.

MemGetInfo(out size_t *free, out size_t *total)
    Tell free and total bytes of the current device.

PointerGetAttributes(out struct infinirtPointerAttributes *attributes, ptr const void *ptr)
    Tell what kind of memory an address lies in, and of which device.

MemPrefetchAsync(ptr const void *devPtr, size_t count, int dstDevice, infinirtStream_t stream = 0)
    Bring managed memory to a device, or with infinirtCpuDeviceId to the host, ahead of its use.

MemPrefetchAsync_v2(ptr const void *devPtr, size_t count, struct infinirtMemLocation location,
        unsigned int flags, infinirtStream_t stream = 0)
    As MemPrefetchAsync, with the place as a location. `flags` must be 0.

MemAdvise(ptr const void *devPtr, size_t count, enum infinirtMemoryAdvise advice, int device)
    Say how a range of managed memory will be used.

MemAdvise_v2(ptr const void *devPtr, size_t count, enum infinirtMemoryAdvise advice,
        struct infinirtMemLocation location)
    As MemAdvise, with the place as a location.

MemRangeGetAttribute(out void *data, size_t dataSize, enum infinirtMemRangeAttribute attribute,
        ptr const void *devPtr, size_t count)
    Tell what was advised or done for a range of managed memory, in `dataSize` bytes.

MemRangeGetAttributes(list(numAttributes) void **data, list(numAttributes) size_t *dataSizes,
        list(numAttributes) enum infinirtMemRangeAttribute *attributes, size_t numAttributes,
        ptr const void *devPtr, size_t count)
    Tell several attributes at once; `data` holds an address for each answer.
"""
