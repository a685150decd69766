"""External objects: memory and semaphores of other interfaces, such as graphics."""

UNSUPPORTED = "objects of other interfaces can only be opened by a device's own driver"

FUNCTIONS = """
ImportExternalMemory(out infinirtExternalMemory_t *extMem_out,
        in const struct infinirtExternalMemoryHandleDesc *memHandleDesc)
    Open memory of another interface.

ExternalMemoryGetMappedBuffer(out void **devPtr, infinirtExternalMemory_t extMem,
        in const struct infinirtExternalMemoryBufferDesc *bufferDesc)
    Map a part of it as linear memory.

ExternalMemoryGetMappedMipmappedArray(out infinirtMipmappedArray_t *mipmap,
        infinirtExternalMemory_t extMem,
        in const struct infinirtExternalMemoryMipmappedArrayDesc *mipmapDesc)
    Map a part of it as a mipmap.

DestroyExternalMemory(infinirtExternalMemory_t extMem)
    Close memory of another interface.

ImportExternalSemaphore(out infinirtExternalSemaphore_t *extSem_out,
        in const struct infinirtExternalSemaphoreHandleDesc *semHandleDesc)
    Open a semaphore of another interface.

SignalExternalSemaphoresAsync(list(numExtSems) const infinirtExternalSemaphore_t *extSemArray,
        list(numExtSems) const struct infinirtExternalSemaphoreSignalParams *paramsArray,
        unsigned int numExtSems, infinirtStream_t stream = 0)
    Signal semaphores in stream order. [symbol: SignalExternalSemaphoresAsync_v2]

WaitExternalSemaphoresAsync(list(numExtSems) const infinirtExternalSemaphore_t *extSemArray,
        list(numExtSems) const struct infinirtExternalSemaphoreWaitParams *paramsArray,
        unsigned int numExtSems, infinirtStream_t stream = 0)
    Wait for semaphores in stream order. [symbol: WaitExternalSemaphoresAsync_v2]

DestroyExternalSemaphore(infinirtExternalSemaphore_t extSem)
    Close a semaphore of another interface.
"""
