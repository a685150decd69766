"""Copying and filling.

The forms without `Async` work in the null stream, and have returned when host memory can be used
again; what lies in device memory alone is not waited for. The `Async` forms work in the order of a
stream. Widths and pitches are in bytes.
"""

FUNCTIONS = """
Memcpy(ptr void *dst, ptr const void *src, size_t count, enum infinirtMemcpyKind kind)
    Copy bytes. infinirtMemcpyDefault finds the direction from the addresses. [waits]

MemcpyAsync(ptr void *dst, ptr const void *src, size_t count, enum infinirtMemcpyKind kind,
        infinirtStream_t stream = 0)
    Copy bytes in stream order. Host memory should be pinned; else the call may wait.

Memcpy2D(ptr void *dst, size_t dpitch, ptr const void *src, size_t spitch, size_t width,
        size_t height, enum infinirtMemcpyKind kind)
    Copy `height` rows of `width` bytes between memory of two pitches. [waits]

Memcpy2DAsync(ptr void *dst, size_t dpitch, ptr const void *src, size_t spitch, size_t width,
        size_t height, enum infinirtMemcpyKind kind, infinirtStream_t stream = 0)
    Copy rows in stream order.

Memcpy3D(in const struct infinirtMemcpy3DParms *p)
    Copy a box. Give either a pointer or an array on each side. [waits]

Memcpy3DAsync(in const struct infinirtMemcpy3DParms *p, infinirtStream_t stream = 0)
    Copy a box in stream order.

MemcpyBatchAsync(list(count) void **dsts, list(count) void **srcs, list(count) size_t *sizes,
        size_t count, list(numAttrs) struct infinirtMemcpyAttributes *attrs,
        list(numAttrs) size_t *attrsIdxs, size_t numAttrs, out? size_t *failIdx,
        infinirtStream_t stream)
    Do many copies, in no order among themselves. Attribute k counts from copy attrsIdxs[k] on,
    up to the next. `failIdx` tells the copy at fault, or SIZE_MAX.

Memcpy3DBatchAsync(size_t numOps, list(numOps) struct infinirtMemcpy3DBatchOp *opList,
        out? size_t *failIdx, unsigned long long flags, infinirtStream_t stream)
    Do many copies of boxes, in no order among themselves. `flags` must be 0.

Memset(ptr void *devPtr, int value, size_t count)
    Set bytes to a value.

MemsetAsync(ptr void *devPtr, int value, size_t count, infinirtStream_t stream = 0)
    Set bytes to a value in stream order.

Memset2D(ptr void *devPtr, size_t pitch, int value, size_t width, size_t height)
    Set `height` rows of `width` bytes to a value.

Memset2DAsync(ptr void *devPtr, size_t pitch, int value, size_t width, size_t height,
        infinirtStream_t stream = 0)
    Set rows to a value in stream order.

Memset3D(struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent)
    Set a box to a value.

Memset3DAsync(struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent,
        infinirtStream_t stream = 0)
    Set a box to a value in stream order.
"""
