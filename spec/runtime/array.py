"""Arrays and mipmaps: device memory in a layout of the hardware's own."""

UNSUPPORTED = "the core has linear memory only; arrays are a matter of texture hardware"

FUNCTIONS = """
MallocArray(out infinirtArray_t *array, in const struct infinirtChannelFormatDesc *desc,
        size_t width, size_t height = 0, unsigned int flags = 0)
    Allocate an array of one or two dimensions.

Malloc3DArray(out infinirtArray_t *array, in const struct infinirtChannelFormatDesc *desc,
        struct infinirtExtent extent, unsigned int flags = 0)
    Allocate an array of up to three dimensions.

MallocMipmappedArray(out infinirtMipmappedArray_t *mipmappedArray,
        in const struct infinirtChannelFormatDesc *desc, struct infinirtExtent extent,
        unsigned int numLevels, unsigned int flags = 0)
    Allocate a mipmap.

FreeArray(infinirtArray_t array)
    Free an array.

FreeMipmappedArray(infinirtMipmappedArray_t mipmappedArray)
    Free a mipmap.

GetMipmappedArrayLevel(out infinirtArray_t *levelArray,
        infinirtMipmappedArray_const_t mipmappedArray, unsigned int level)
    Give one level of a mipmap.

ArrayGetInfo(out? struct infinirtChannelFormatDesc *desc, out? struct infinirtExtent *extent,
        out? unsigned int *flags, infinirtArray_t array)
    Tell format, extent and flags of an array.

ArrayGetPlane(out infinirtArray_t *pPlaneArray, infinirtArray_t hArray, unsigned int planeIdx)
    Give one plane of a planar array.

ArrayGetMemoryRequirements(out struct infinirtArrayMemoryRequirements *memoryRequirements,
        infinirtArray_t array, int device)
    Tell the memory that an array needs.

MipmappedArrayGetMemoryRequirements(out struct infinirtArrayMemoryRequirements *memoryRequirements,
        infinirtMipmappedArray_t mipmap, int device)
    Tell the memory that a mipmap needs.

ArrayGetSparseProperties(out struct infinirtArraySparseProperties *sparseProperties,
        infinirtArray_t array)
    Tell the tiles of a sparse array.

MipmappedArrayGetSparseProperties(out struct infinirtArraySparseProperties *sparseProperties,
        infinirtMipmappedArray_t mipmap)
    Tell the tiles of a sparse mipmap.

Memcpy2DToArray(infinirtArray_t dst, size_t wOffset, size_t hOffset, ptr const void *src,
        size_t spitch, size_t width, size_t height, enum infinirtMemcpyKind kind)
    Copy rows into an array.

Memcpy2DFromArray(ptr void *dst, size_t dpitch, infinirtArray_const_t src, size_t wOffset,
        size_t hOffset, size_t width, size_t height, enum infinirtMemcpyKind kind)
    Copy rows out of an array.

Memcpy2DArrayToArray(infinirtArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
        infinirtArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc, size_t width,
        size_t height, enum infinirtMemcpyKind kind = infinirtMemcpyDeviceToDevice)
    Copy rows between arrays.

Memcpy2DToArrayAsync(infinirtArray_t dst, size_t wOffset, size_t hOffset, ptr const void *src,
        size_t spitch, size_t width, size_t height, enum infinirtMemcpyKind kind,
        infinirtStream_t stream = 0)
    Copy rows into an array in stream order.

Memcpy2DFromArrayAsync(ptr void *dst, size_t dpitch, infinirtArray_const_t src, size_t wOffset,
        size_t hOffset, size_t width, size_t height, enum infinirtMemcpyKind kind,
        infinirtStream_t stream = 0)
    Copy rows out of an array in stream order.

MemcpyToArray(infinirtArray_t dst, size_t wOffset, size_t hOffset, ptr const void *src,
        size_t count, enum infinirtMemcpyKind kind)
    Copy bytes into an array. Out of use since CUDA 10.

MemcpyFromArray(ptr void *dst, infinirtArray_const_t src, size_t wOffset, size_t hOffset,
        size_t count, enum infinirtMemcpyKind kind)
    Copy bytes out of an array. Out of use since CUDA 10.

MemcpyArrayToArray(infinirtArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
        infinirtArray_const_t src, size_t wOffsetSrc, size_t hOffsetSrc, size_t count,
        enum infinirtMemcpyKind kind = infinirtMemcpyDeviceToDevice)
    Copy bytes between arrays. Out of use since CUDA 10.

MemcpyToArrayAsync(infinirtArray_t dst, size_t wOffset, size_t hOffset, ptr const void *src,
        size_t count, enum infinirtMemcpyKind kind, infinirtStream_t stream = 0)
    Copy bytes into an array in stream order. Out of use since CUDA 10.

MemcpyFromArrayAsync(ptr void *dst, infinirtArray_const_t src, size_t wOffset, size_t hOffset,
        size_t count, enum infinirtMemcpyKind kind, infinirtStream_t stream = 0)
    Copy bytes out of an array in stream order. Out of use since CUDA 10.
"""
