// Device memory: Malloc, Free and their pitched forms; what the runtime reports about an address.
#include "memory.h"

#include "across.h"
#include "capture.h"
#include "graph.h"
#include "impl.h"
#include "keep.h"
#include "managed.h"
#include "pool.h"

namespace infini::rt {
namespace {

// Of MallocPitch and Malloc3D: as wide as vector loads and texture rows of current hardware
// require.
constexpr size_t kPitchAlignment = 512;

Error no_memory(Call &call, size_t bytes, Error code) {
    if (code != infinirtErrorMemoryAllocation) return call.driver(code, "allocating memory");
    std::string explained = std::move(call.thread.explanation);
    call.thread.explanation.clear();
    return call.fail(code, "no memory for %zu bytes on device %d%s%s", bytes, call.device().index,
                     explained.empty() ? "" : ": ", explained.c_str());
}

Error allocate(Call &call, size_t bytes, void **memory) {
    Device &device = call.device();
    if (Error error = check_unsafe_call(call)) return error;
    if (bytes > PTRDIFF_MAX) return no_memory(call, bytes, infinirtErrorMemoryAllocation);
    Error error = device.driver().allocate(device.index, bytes, memory);
    if (error == infinirtErrorMemoryAllocation && trim_pools(device)) {
        call.thread.explanation.clear();
        error = device.driver().allocate(device.index, bytes, memory);
    }
    if (error != infinirtSuccess) return no_memory(call, bytes, error);
    MemoryRange range;
    range.base = reinterpret_cast<uintptr_t>(*memory);
    range.bytes = bytes;
    range.device = &device;
    if (add_memory(range)) return infinirtSuccess;
    device.driver().release(device.index, *memory, bytes);
    return call.fail(infinirtErrorUnknown, "the device gave memory at %p that is in use already",
                     *memory);
}

bool round_up(size_t value, size_t to, size_t *rounded) {
    return !__builtin_add_overflow(value, to - 1, rounded) && (*rounded -= *rounded % to, true);
}

Error synchronize_kind(const Backend &backend) {
    Error result = infinirtSuccess;
    for (const auto &device : backend.devices)
        if (Error error = backend.driver.device_synchronize(device->index)) result = error;
    return result;
}

Error free_device_memory(Call &call, const MemoryRange &range, void *pointer) {
    Device &device = *range.device;
    MemoryRange removed;
    if (!remove_memory(pointer, range.kind, &removed))
        return call.invalid(
            "devPtr is %p: expected the address that the allocation gave, it begins at 0x%zx",
            pointer, static_cast<size_t>(range.base));
    if (range.kind == MemoryKind::Managed) forget_advice(range.base);
    // Work that still uses the memory ends first, on whichever device of the kind it is.
    Error waited = synchronize_kind(device.backend);
    Error released = device.driver().release(device.index, pointer, removed.bytes);
    if (released != infinirtSuccess) {  // it stays allocated, and can be freed again
        add_memory(removed);
        return call.driver(released, "giving the memory back");
    }
    release_unused(device);
    return call.driver(waited, "waiting for the device");
}

}  // namespace

Device *device_argument(Call &call, int number, const char *name) {
    auto &devices = call.thread.backend->devices;
    if (number >= 0 && static_cast<size_t>(number) < devices.size()) return devices[number].get();
    call.fail(infinirtErrorInvalidDevice, "%s is %d: expected a device number from 0 to %zu", name,
              number, devices.size() - 1);
    return nullptr;
}

namespace impl {

Error Malloc(Call &call, void **devPtr, size_t size) {
    void *memory = nullptr;
    if (size > 0)
        if (Error error = allocate(call, size, &memory)) return error;
    *devPtr = memory;
    return infinirtSuccess;
}

Error MallocPitch(Call &call, void **devPtr, size_t *pitch, size_t width, size_t height) {
    infinirtPitchedPtr memory{};
    if (Error error = Malloc3D(call, &memory, {width, height, 1})) return error;
    *devPtr = memory.ptr;
    *pitch = memory.pitch;
    return infinirtSuccess;
}

Error Malloc3D(Call &call, infinirtPitchedPtr *pitchedDevPtr, infinirtExtent extent) {
    void *memory = nullptr;
    size_t pitch = 0, bytes = 0;
    bool fits = round_up(extent.width, kPitchAlignment, &pitch) &&
                !__builtin_mul_overflow(pitch, extent.height, &bytes) &&
                !__builtin_mul_overflow(bytes, extent.depth, &bytes);
    if (!fits)
        return call.invalid("the extent %zu x %zu x %zu does not fit into the address space",
                            extent.width, extent.height, extent.depth);
    if (bytes > 0)
        if (Error error = allocate(call, bytes, &memory)) return error;
    *pitchedDevPtr = {memory, bytes > 0 ? pitch : 0, extent.width, extent.height};
    return infinirtSuccess;
}

Error Free(Call &call, void *devPtr) {
    if (Error error = check_unsafe_call(call)) return error;
    if (!devPtr) return infinirtSuccess;
    MemoryRange range;
    if (!find_memory(devPtr, &range))
        return call.invalid("devPtr is %p: expected memory of infinirtMalloc that was not freed",
                            devPtr);
    switch (range.kind) {
        case MemoryKind::Device:
        case MemoryKind::Managed:
            return free_device_memory(call, range, devPtr);
        case MemoryKind::Pool:
            return free_block(call, range, devPtr, nullptr);
        case MemoryKind::Graph:
            if (free_graph_memory(devPtr)) return infinirtSuccess;
            return call.invalid("devPtr is %p: the graph's allocation there is not live", devPtr);
        case MemoryKind::Imported:
            return call.invalid(
                "devPtr is memory of another process: use infinirtIpcCloseMemHandle");
        case MemoryKind::Pinned:
            return call.invalid("devPtr is pinned host memory: use infinirtFreeHost");
        case MemoryKind::Registered:
            return call.invalid("devPtr is registered host memory: use infinirtHostUnregister");
    }
    return infinirtErrorInvalidValue;
}

Error MemGetInfo(Call &call, size_t *free, size_t *total) {
    Device &device = call.device();
    return call.driver(device.driver().device_memory(device.index, free, total),
                       "asking for the device's memory");
}

// As in CUDA 12, an address that the runtime does not know is host memory of the program, not an
// error.
Error PointerGetAttributes(Call &, infinirtPointerAttributes *attributes, const void *ptr) {
    MemoryRange range;
    void *pointer = const_cast<void *>(ptr);
    if (!find_memory(ptr, &range)) {
        Operand elsewhere;
        if (ptr && find_elsewhere(ptr, &elsewhere, true)) {
            bool managed = elsewhere.place == Place::Managed;
            *attributes = {managed ? infinirtMemoryTypeManaged : infinirtMemoryTypeDevice,
                           elsewhere.device->index, pointer, managed ? pointer : nullptr};
            return infinirtSuccess;
        }
        *attributes = {infinirtMemoryTypeUnregistered, infinirtInvalidDeviceId, nullptr, pointer};
        return infinirtSuccess;
    }
    int device = range.device->index;
    if (range.on_host())
        *attributes = {infinirtMemoryTypeHost, device, pointer, pointer};
    else if (range.kind == MemoryKind::Managed)
        *attributes = {infinirtMemoryTypeManaged, device, pointer, pointer};
    else
        *attributes = {infinirtMemoryTypeDevice, device, pointer, nullptr};
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt

using namespace infini::rt;

extern "C" infiniStatus_t infiniFreeIfIdle(void *memory) {
    MemoryRange range;
    if (!find_memory(memory, &range)) return INFINI_STATUS_BAD_PARAM;
    const Device &device = *range.device;
    const InfiniDriver &driver = device.driver();
    const bool pinned = range.kind == MemoryKind::Pinned;
    if (!driver.device_query) {
        Error error = pinned ? infinirtFreeHost(memory) : infinirtFree(memory);
        return error == infinirtSuccess ? INFINI_STATUS_SUCCESS : INFINI_STATUS_INTERNAL_ERROR;
    }
    for (const auto &each : device.backend.devices)
        if (driver.device_query(each->index) != infinirtSuccess)
            return INFINI_STATUS_INTERNAL_ERROR;
    if (!remove_memory(memory, range.kind, &range)) return INFINI_STATUS_BAD_PARAM;
    if (pinned)
        release_host(driver, memory, range.bytes);
    else
        driver.release(device.index, memory, range.bytes);
    return INFINI_STATUS_SUCCESS;
}

extern "C" int infiniIsFreed(const void *memory) {
    const Backend *backend = Thread::current().backend;
    MemoryRange range;
    return backend && !backend->own_handles && !find_memory(memory, &range);
}
