// Memory and events of other processes. The driver makes and opens the handles; this file does the
// bookkeeping.
#include <unistd.h>

#include <array>
#include <cstring>
#include <map>

#include "capture.h"
#include "impl.h"
#include "memory.h"
#include "stream.h"

namespace infini::rt {
namespace {

using Key = std::array<char, sizeof(infinirtIpcMemHandle_t)>;
static_assert(sizeof(infinirtIpcEventHandle_t) == sizeof(Key));

Key key_of(const auto &handle) {
    Key key;
    memcpy(key.data(), &handle, key.size());
    return key;
}

struct Opened {
    Device *device;
    void *memory;
    unsigned references;
};

struct Handles {
    ForkSafeMutex mutex{LockRank::Pools};
    std::map<Key, pid_t> exported;  // by which process: a forked child may open its parent's
    std::map<std::pair<Device *, Key>, Opened> opened;
};

Handles &handles() {
    static auto *instance = new Handles;
    return *instance;
}

void note_export(const Key &key) {
    std::lock_guard lock(handles().mutex);
    handles().exported[key] = getpid();
}

// A process cannot open its own handle. The caller holds the lock.
Error check_not_own(Call &call, const Key &key, const char *instead) {
    auto own = handles().exported.find(key);
    if (own == handles().exported.end() || own->second != getpid()) return infinirtSuccess;
    return call.fail(infinirtErrorDeviceUninitialized,
                     "the handle was made by this process: use %s itself", instead);
}

Error unsupported(Call &call, Device &device, const char *what) {
    return call.fail(infinirtErrorNotSupported, "%s devices cannot share %s between processes",
                     device.backend.name.c_str(), what);
}

}  // namespace

namespace impl {

Error IpcGetMemHandle(Call &call, infinirtIpcMemHandle_t *handle, void *devPtr) {
    MemoryRange range;
    if (!find_memory(devPtr, &range) || range.kind != MemoryKind::Device)
        return call.invalid("devPtr is %p: expected memory of infinirtMalloc", devPtr);
    auto memory_export = range.device->driver().memory_export;
    if (!memory_export) return unsupported(call, *range.device, "memory");
    // As in CUDA, the handle is for the whole allocation that contains the address.
    infinirtIpcMemHandle_t made{};
    Error error = memory_export(range.device->index, reinterpret_cast<void *>(range.base),
                                range.bytes, &made);
    if (error != infinirtSuccess) return call.driver(error, "exporting the memory");
    note_export(key_of(made));
    *handle = made;
    return infinirtSuccess;
}

Error IpcOpenMemHandle(Call &call, void **devPtr, infinirtIpcMemHandle_t handle,
                       unsigned int flags) {
    if (flags != infinirtIpcMemLazyEnablePeerAccess)
        return call.invalid("flags is 0x%x: expected infinirtIpcMemLazyEnablePeerAccess", flags);
    Device &device = call.device();
    auto memory_import = device.driver().memory_import;
    if (!memory_import) return unsupported(call, device, "memory");
    if (Error error = check_unsafe_call(call)) return error;
    std::pair<Device *, Key> key{&device, key_of(handle)};
    // Opening twice maps once: the lock is kept until the first mapping is known. No device is
    // waited for.
    std::lock_guard lock(handles().mutex);
    if (Error error = check_not_own(call, key.second, "the memory's address")) return error;
    if (auto found = handles().opened.find(key); found != handles().opened.end()) {
        ++found->second.references;
        *devPtr = found->second.memory;
        return infinirtSuccess;
    }
    void *memory = nullptr;
    size_t bytes = 0;
    Error error = memory_import(device.index, &handle, &memory, &bytes);
    if (error != infinirtSuccess) return call.driver(error, "opening the memory");
    MemoryRange range;
    range.base = reinterpret_cast<uintptr_t>(memory);
    range.bytes = bytes;
    range.kind = MemoryKind::Imported;
    range.device = &device;
    if (!add_memory(range)) {
        device.driver().memory_close(device.index, memory, bytes);
        return call.fail(infinirtErrorUnknown, "the memory at %p is in use already", memory);
    }
    handles().opened[key] = {&device, memory, 1};
    *devPtr = memory;
    return infinirtSuccess;
}

Error IpcCloseMemHandle(Call &call, void *devPtr) {
    if (Error error = check_unsafe_call(call)) return error;
    MemoryRange range;
    {
        std::lock_guard lock(handles().mutex);
        auto &opened = handles().opened;
        auto found = opened.begin();
        while (found != opened.end() && found->second.memory != devPtr) ++found;
        if (found == opened.end())
            return call.invalid(
                "devPtr is %p: expected an address that infinirtIpcOpenMemHandle gave", devPtr);
        if (--found->second.references > 0) return infinirtSuccess;
        opened.erase(found);
    }
    if (!remove_memory(devPtr, MemoryKind::Imported, &range)) return infinirtErrorInvalidValue;
    // Work that still uses the memory ends first.
    Device &device = *range.device;
    Error waited = device.driver().device_synchronize(device.index);
    Error closed = device.driver().memory_close(device.index, devPtr, range.bytes);
    if (waited != infinirtSuccess) return call.driver(waited, "waiting for the device");
    return call.driver(closed, "closing the memory");
}

Error IpcGetEventHandle(Call &call, infinirtIpcEventHandle_t *handle, Event &event) {
    if (!(event.flags & infinirtEventInterprocess) || event.imported)
        return call.fail(infinirtErrorInvalidResourceHandle,
                         "event was not made in this process with infinirtEventInterprocess and "
                         "infinirtEventDisableTiming");
    auto event_export = event.device.driver().event_export;
    if (!event_export) return unsupported(call, event.device, "events");
    infinirtIpcEventHandle_t made{};
    Error error = event_export(event.driver, &made);
    if (error != infinirtSuccess) return call.driver(error, "exporting the event");
    note_export(key_of(made));
    *handle = made;
    return infinirtSuccess;
}

Error IpcOpenEventHandle(Call &call, infinirtEvent_t *event, infinirtIpcEventHandle_t handle) {
    Device &device = call.device();
    auto event_import = device.driver().event_import;
    if (!event_import) return unsupported(call, device, "events");
    {
        std::lock_guard lock(handles().mutex);
        if (Error error = check_not_own(call, key_of(handle), "the event")) return error;
    }
    void *driver = nullptr;
    Error error = event_import(device.index, &handle, &driver);
    if (error != infinirtSuccess) return call.driver(error, "opening the event");
    constexpr unsigned kFlags = infinirtEventInterprocess | infinirtEventDisableTiming;
    Event *made = EventTable::get().make(device, driver, kFlags);
    if (!made) {
        device.driver().event_destroy(device.index, driver);
        return call.fail(infinirtErrorMemoryAllocation, "too many events");
    }
    made->imported = true;
    made->recorded.store(true, std::memory_order_relaxed);
    *event = handle_of(made);
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
