// Streams and events are the vendor's handles; submit enqueues all kinds of work.
#include "operators.h"
#include "runtime/driver.h"
#include "runtime/vendor_call.h"

namespace infini::cuda {
namespace {

using Handle = infinirtStream_t;

// A box of bytes; the vendor derives the memory types from the addresses.
Error copy(const InfiniCopy &box, Handle stream) {
    constexpr auto kKind = infinirtMemcpyDefault;
    auto *to = static_cast<char *>(box.dst);
    auto *from = static_cast<const char *>(box.src);
    if (box.height == 1 && box.depth == 1)
        return INFINI_CALL(MemcpyAsync, static_cast<void *>(to), static_cast<const void *>(from),
                           box.width, kKind, stream);
    for (size_t z = 0; z < box.depth; ++z)
        if (Error error =
                INFINI_CALL(Memcpy2DAsync, static_cast<void *>(to + z * box.dst_slice),
                            box.dst_pitch, static_cast<const void *>(from + z * box.src_slice),
                            box.src_pitch, box.width, box.height, kKind, stream))
            return error;
    return infinirtSuccess;
}

// Multi-byte elements that are not a repeated byte: only driver functions support those.
Error fill_wide(const InfiniFill &box, char *slice, Handle stream) {
    using Fill16 = int (*)(void *, size_t, unsigned short, size_t, size_t, Handle);
    using Fill32 = int (*)(void *, size_t, unsigned, size_t, size_t, Handle);
    static const auto fill16 = function<Fill16>(Part::kDriver, "MemsetD2D16Async");
    static const auto fill32 = function<Fill32>(Part::kDriver, "MemsetD2D32Async");
    if (box.element == 2 && fill16)
        return check(Part::kDriver,
                     fill16(slice, box.pitch, static_cast<unsigned short>(box.value), box.width,
                            box.height, stream),
                     "MemsetD2D16Async");
    if (box.element == 4 && fill32)
        return check(Part::kDriver,
                     fill32(slice, box.pitch, box.value, box.width, box.height, stream),
                     "MemsetD2D32Async");
    // Without these driver functions: byte by byte of the element, each a column of single bytes.
    for (size_t y = 0; y < box.height; ++y)
        for (unsigned i = 0; i < box.element; ++i)
            if (Error error =
                    INFINI_CALL(Memset2DAsync, static_cast<void *>(slice + y * box.pitch + i),
                                size_t(box.element), int(box.value >> 8 * i & 0xff), size_t(1),
                                box.width, stream))
                return error;
    return infinirtSuccess;
}

Error fill(const InfiniFill &box, Handle stream) {
    uint32_t byte = box.value & 0xff;
    uint32_t mask = box.element == 4 ? 0xffffffffu : (1u << (8 * box.element)) - 1;
    bool bytes = (box.value & mask) == (byte * 0x01010101u & mask);
    size_t width = box.width * box.element;
    for (size_t z = 0; z < box.depth; ++z) {
        char *slice = static_cast<char *>(box.dst) + z * box.slice;
        Error error;
        if (!bytes)
            error = fill_wide(box, slice, stream);
        else if (box.height == 1)
            error = INFINI_CALL(MemsetAsync, static_cast<void *>(slice), int(byte), width, stream);
        else
            error = INFINI_CALL(Memset2DAsync, static_cast<void *>(slice), box.pitch, int(byte),
                                width, box.height, stream);
        if (error != infinirtSuccess) return error;
    }
    return infinirtSuccess;
}

Error submit_one(int device, Handle stream, const InfiniWork &work) {
    switch (work.kind) {
        case INFINI_WORK_COPY:
            return copy(work.as.copy, stream);
        case INFINI_WORK_FILL:
            return fill(work.as.fill, stream);
        case INFINI_WORK_HOST:
            return INFINI_CALL(LaunchHostFunc, stream, work.as.host.function, work.as.host.data);
        case INFINI_WORK_RECORD:
            return INFINI_CALL(EventRecord, static_cast<infinirtEvent_t>(work.as.event), stream);
        case INFINI_WORK_WAIT:
            return INFINI_CALL(StreamWaitEvent, stream, static_cast<infinirtEvent_t>(work.as.event),
                               0u);
        case INFINI_WORK_KERNEL:
            return run_kernel(work.as.kernel, device, stream);
    }
    return fail(infinirtErrorNotSupported, "this back end is older than work of kind %d",
                static_cast<int>(work.kind));
}

}  // namespace

Error stream_create(int device, unsigned flags, int priority, void **stream) {
    OnDevice here(device);
    return INFINI_CALL(StreamCreateWithPriority, reinterpret_cast<Handle *>(stream), flags,
                       priority);
}

Error stream_destroy(int device, void *stream) {
    OnDevice here(device);
    return INFINI_CALL(StreamDestroy, static_cast<Handle>(stream));
}

Error stream_query(int device, void *stream) {
    OnDevice here(device);
    return INFINI_CALL(StreamQuery, static_cast<Handle>(stream));
}

Error stream_synchronize(int device, void *stream) {
    OnDevice here(device);
    return INFINI_CALL(StreamSynchronize, static_cast<Handle>(stream));
}

Error submit(int device, void *stream, const InfiniWork *work, size_t count) {
    OnDevice here(device);
    for (size_t i = 0; i < count; ++i)
        if (Error error = submit_one(device, static_cast<Handle>(stream), work[i])) [[unlikely]]
            return error;
    return infinirtSuccess;
}

Error event_create(int device, unsigned flags, void **event) {
    OnDevice here(device);
    return INFINI_CALL(EventCreateWithFlags, reinterpret_cast<infinirtEvent_t *>(event), flags);
}

Error event_destroy(int device, void *event) {
    OnDevice here(device);
    return INFINI_CALL(EventDestroy, static_cast<infinirtEvent_t>(event));
}

Error event_query(int device, void *event) {
    OnDevice here(device);
    return INFINI_CALL(EventQuery, static_cast<infinirtEvent_t>(event));
}

Error event_synchronize(int device, void *event) {
    OnDevice here(device);
    return INFINI_CALL(EventSynchronize, static_cast<infinirtEvent_t>(event));
}

Error event_elapsed(void *start, void *end, float *milliseconds) {
    return INFINI_CALL(EventElapsedTime, milliseconds, static_cast<infinirtEvent_t>(start),
                       static_cast<infinirtEvent_t>(end));
}

}  // namespace infini::cuda
