// Pinned and registered host memory.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "capture.h"
#include "impl.h"
#include "memory.h"
#include "pool.h"

namespace infini::rt {
namespace {

constexpr unsigned kAllocFlags =
    infinirtHostAllocPortable | infinirtHostAllocMapped | infinirtHostAllocWriteCombined;
constexpr unsigned kRegisterFlags = infinirtHostRegisterPortable | infinirtHostRegisterMapped |
                                    infinirtHostRegisterIoMemory | infinirtHostRegisterReadOnly;

// For a back end that cannot pin: plain memory, aligned like pages as pinned memory is.
Error allocate_plain(size_t bytes, void **memory) {
    return posix_memalign(memory, 4096, bytes) == 0 ? infinirtSuccess
                                                    : infinirtErrorMemoryAllocation;
}

// Whether every page of the range is mapped. Registration, unlike a copy, has the time to probe all
// pages.
bool all_mapped(uintptr_t begin, size_t bytes) {
    uintptr_t page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    uintptr_t at = begin & ~(page - 1), end = begin + bytes;
    unsigned char answers[4096];
    while (at < end) {
        size_t span = std::min<size_t>(end - at, sizeof answers * page);
        if (mincore(reinterpret_cast<void *>(at), span, answers) != 0) return false;
        at += span;
    }
    return true;
}

Error unknown_host(Call &call, const char *name, const void *pointer) {
    return call.invalid(
        "%s is %p: expected memory of infinirtMallocHost, infinirtHostAlloc or "
        "infinirtHostRegister",
        name, pointer);
}

}  // namespace

void release_host(const InfiniDriver &driver, void *memory, size_t bytes) {
    if (driver.allocate_host && driver.release_host)
        driver.release_host(memory, bytes);
    else if (!driver.allocate_host)
        free(memory);
}

namespace impl {

Error HostAlloc(Call &call, void **pHost, size_t size, unsigned int flags) {
    if (flags & ~kAllocFlags)
        return call.invalid("flags is 0x%x: expected a union of infinirtHostAlloc flags", flags);
    if (size == 0) {
        *pHost = nullptr;
        return infinirtSuccess;
    }
    if (Error error = check_unsafe_call(call)) return error;
    if (size > PTRDIFF_MAX)
        return call.fail(infinirtErrorMemoryAllocation, "no host memory for %zu bytes", size);
    Device &device = call.device();
    const InfiniDriver &driver = device.driver();
    void *memory = nullptr;
    Error error = driver.allocate_host ? driver.allocate_host(size, flags, &memory)
                                       : allocate_plain(size, &memory);
    if (error != infinirtSuccess) return call.driver(error, "allocating pinned host memory");
    MemoryRange range;
    range.base = reinterpret_cast<uintptr_t>(memory);
    range.bytes = size;
    range.kind = MemoryKind::Pinned;
    range.device = &device;
    range.flags = flags;
    if (!add_memory(range)) {
        release_host(driver, memory, size);
        return call.fail(infinirtErrorUnknown, "the host memory at %p is in use already", memory);
    }
    *pHost = memory;
    return infinirtSuccess;
}

Error MallocHost(Call &call, void **ptr, size_t size) {
    return HostAlloc(call, ptr, size, infinirtHostAllocDefault);
}

Error FreeHost(Call &call, void *ptr) {
    if (!ptr) return infinirtSuccess;
    if (Error error = check_unsafe_call(call)) return error;
    MemoryRange range;
    if (!remove_memory(ptr, MemoryKind::Pinned, &range)) {
        bool known = find_memory(ptr, &range);
        if (known && range.kind == MemoryKind::Pinned)
            return call.invalid(
                "ptr is %p: expected the address that the allocation gave, it begins at 0x%zx", ptr,
                static_cast<size_t>(range.base));
        return call.invalid(
            "ptr is %p, which is %s: expected memory of infinirtMallocHost or infinirtHostAlloc "
            "that was not freed",
            ptr,
            !known            ? "not known"
            : range.on_host() ? "registered (use infinirtHostUnregister)"
                              : "device memory (use infinirtFree)");
    }
    // Work that still uses the memory ends first.
    Device &device = *range.device;
    Error waited = device.driver().device_synchronize(device.index);
    release_host(device.driver(), ptr, range.bytes);
    release_unused(device);
    return call.driver(waited, "waiting for the device");
}

Error HostRegister(Call &call, void *ptr, size_t size, unsigned int flags) {
    if (flags & ~kRegisterFlags)
        return call.invalid("flags is 0x%x: expected a union of infinirtHostRegister flags", flags);
    auto begin = reinterpret_cast<uintptr_t>(ptr);
    uintptr_t end;
    bool written = !(flags & infinirtHostRegisterReadOnly);
    if (!ptr || size == 0 || __builtin_add_overflow(begin, size, &end) ||
        !all_mapped(begin, size) || !probe_host(call.thread.memory, ptr, size, written))
        return call.invalid("ptr is %p with size %zu: expected host memory of the program", ptr,
                            size);
    if (Error error = check_unsafe_call(call)) return error;
    MemoryRange range;
    range.base = begin;
    range.bytes = size;
    range.kind = MemoryKind::Registered;
    range.device = &call.device();
    range.flags = flags;
    if (!add_memory(range)) {
        MemoryRange other;
        bool twice = !find_memory(ptr, &other) || other.kind == MemoryKind::Registered;
        return call.fail(
            twice ? infinirtErrorHostMemoryAlreadyRegistered : infinirtErrorInvalidValue,
            "ptr is %p with size %zu: expected memory of which no part is %s", ptr, size,
            twice ? "registered already" : "the runtime's own");
    }
    auto pin = call.device().driver().register_host;
    Error error = pin ? pin(ptr, size, flags) : infinirtSuccess;
    if (error != infinirtSuccess) remove_memory(ptr, MemoryKind::Registered, &range);
    return call.driver(error, "pinning the memory");
}

Error HostUnregister(Call &call, void *ptr) {
    if (Error error = check_unsafe_call(call)) return error;
    MemoryRange range;
    if (!remove_memory(ptr, MemoryKind::Registered, &range)) {
        bool known = find_memory(ptr, &range);
        return call.fail(known ? infinirtErrorInvalidValue : infinirtErrorHostMemoryNotRegistered,
                         "ptr is %p: expected an address given to infinirtHostRegister", ptr);
    }
    // Work that still uses the memory ends first.
    Device &device = *range.device;
    Error waited = device.driver().device_synchronize(device.index);
    auto unpin = device.driver().unregister_host;
    Error error = unpin ? unpin(ptr, range.bytes) : infinirtSuccess;
    release_unused(device);
    if (waited != infinirtSuccess) return call.driver(waited, "waiting for the device");
    return call.driver(error, "unpinning the memory");
}

// Host and devices use the same addresses.
Error HostGetDevicePointer(Call &call, void **pDevice, void *pHost, unsigned int flags) {
    if (flags != 0) return call.invalid("flags is 0x%x: expected 0", flags);
    MemoryRange range;
    if (!find_memory(pHost, &range) || !range.on_host()) return unknown_host(call, "pHost", pHost);
    *pDevice = pHost;
    return infinirtSuccess;
}

Error HostGetFlags(Call &call, unsigned int *pFlags, void *pHost) {
    MemoryRange range;
    if (!find_memory(pHost, &range) || !range.on_host()) return unknown_host(call, "pHost", pHost);
    *pFlags = range.flags | infinirtHostAllocMapped;  // always true with a unified address space
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
