"""Memory pools and allocation in stream order.

Memory of MallocAsync may be used by work behind the allocation and before the free. Freed memory
stays in its pool for the next allocation that is ordered behind the free; the release threshold
says how much is kept at waits.
"""

FUNCTIONS = """
DeviceGetDefaultMemPool(out infinirtMemPool_t *memPool, int device)
    Give the pool that every device has from the start.

DeviceSetMemPool(int device, infinirtMemPool_t memPool)
    Choose the pool that MallocAsync takes memory from on a device.

DeviceGetMemPool(out infinirtMemPool_t *memPool, int device)
    Give the pool that MallocAsync takes memory from on a device.

MallocAsync(out void **devPtr, size_t size, infinirtStream_t hStream)
    Allocate in stream order from the current pool of the stream's device.

FreeAsync(ptr void *devPtr, infinirtStream_t hStream)
    Free in stream order.

MemPoolTrimTo(infinirtMemPool_t memPool, size_t minBytesToKeep)
    Give unused memory back to the device until no more than this many bytes are reserved.

MemPoolSetAttribute(infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, in void *value)
    Set an attribute: int for the reuse rules, unsigned 64-bit for bytes. A high-water
    mark can only be set to 0.

MemPoolGetAttribute(infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, out void *value)
    Tell an attribute: int for the reuse rules, unsigned 64-bit for bytes.

MemPoolSetAccess(infinirtMemPool_t memPool,
        list(count) const struct infinirtMemAccessDesc *descList, size_t count)
    Say which devices may reach a pool's memory. A pool's own device cannot be shut out.

MemPoolGetAccess(out enum infinirtMemAccessFlags *flags, infinirtMemPool_t memPool,
        in struct infinirtMemLocation *location)
    Tell how a device may reach a pool's memory.

MemPoolCreate(out infinirtMemPool_t *memPool, in const struct infinirtMemPoolProps *poolProps)
    Make a pool on the device that the properties name.

MemPoolDestroy(infinirtMemPool_t memPool)
    Destroy a pool; its memory goes when the last allocation is freed. Default pools stay.

MallocFromPoolAsync(out void **ptr, size_t size, infinirtMemPool_t memPool, infinirtStream_t stream)
    Allocate in stream order from a given pool.

MemPoolExportToShareableHandle(out void *shareableHandle, infinirtMemPool_t memPool,
        enum infinirtMemAllocationHandleType handleType, unsigned int flags)
    Give an operating-system handle for a pool to another process.
    [unsupported: only the driver shares whole pools; IpcGetMemHandle shares single allocations]

MemPoolImportFromShareableHandle(out infinirtMemPool_t *memPool, in void *shareableHandle,
        enum infinirtMemAllocationHandleType handleType, unsigned int flags)
    Open another process's pool.
    [unsupported: only the driver shares whole pools; IpcGetMemHandle shares single allocations]

MemPoolExportPointer(out struct infinirtMemPoolPtrExportData *exportData, ptr void *ptr)
    Describe an allocation of a shared pool for another process.
    [unsupported: only the driver shares whole pools; IpcGetMemHandle shares single allocations]

MemPoolImportPointer(out void **ptr, infinirtMemPool_t memPool,
        in struct infinirtMemPoolPtrExportData *exportData)
    Open an allocation of another process's shared pool.
    [unsupported: only the driver shares whole pools; IpcGetMemHandle shares single allocations]
"""
