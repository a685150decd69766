// Memory of devices and pinned memory of the host, and handles of both for other processes.
#include "runtime/device_reset.h"
#include "runtime/driver.h"
#include "runtime/vendor_call.h"

namespace infini::cuda {

Error allocate(int device, size_t bytes, void **memory) {
    watch_forks();
    OnDevice here(device);
    return INFINI_CALL(Malloc, memory, bytes);
}

Error release(int device, void *memory, size_t) {
    OnDevice here(device);
    return INFINI_CALL(Free, memory);
}

Error allocate_host(size_t bytes, unsigned flags, void **memory) {
    return INFINI_CALL(HostAlloc, memory, bytes, flags);
}

Error release_host(void *memory, size_t) { return INFINI_CALL(FreeHost, memory); }

Error register_host(void *memory, size_t bytes, unsigned flags) {
    return INFINI_CALL(HostRegister, memory, bytes, flags);
}

Error unregister_host(void *memory, size_t) { return INFINI_CALL(HostUnregister, memory); }

Error allocate_managed(int device, size_t bytes, void **memory) {
    OnDevice here(device);
    return INFINI_CALL(MallocManaged, memory, bytes, unsigned(infinirtMemAttachGlobal));
}

Error memory_export(int device, void *memory, size_t, infinirtIpcMemHandle_t *handle) {
    OnDevice here(device);
    return INFINI_CALL(IpcGetMemHandle, handle, memory);
}

Error memory_import(int device, const infinirtIpcMemHandle_t *handle, void **memory,
                    size_t *bytes) {
    OnDevice here(device);
    Error error = INFINI_CALL(IpcOpenMemHandle, memory, *handle,
                              unsigned(infinirtIpcMemLazyEnablePeerAccess));
    if (error != infinirtSuccess) return error;
    // The runtime does not report the size of an opened handle; the driver does.
    using Range = int (*)(void **, size_t *, void *);
    static const auto range = function<Range>(Part::kDriver, "MemGetAddressRange_v2");
    void *base = nullptr;
    if (range && range(&base, bytes, *memory) == 0) return infinirtSuccess;
    INFINI_CALL(IpcCloseMemHandle, *memory);
    return fail(infinirtErrorNotSupported, "the driver does not tell the size of opened memory");
}

Error memory_close(int device, void *memory, size_t) {
    OnDevice here(device);
    return INFINI_CALL(IpcCloseMemHandle, memory);
}

Error event_export(void *event, infinirtIpcEventHandle_t *handle) {
    return INFINI_CALL(IpcGetEventHandle, handle, static_cast<infinirtEvent_t>(event));
}

Error event_import(int device, const infinirtIpcEventHandle_t *handle, void **event) {
    OnDevice here(device);
    return INFINI_CALL(IpcOpenEventHandle, reinterpret_cast<infinirtEvent_t *>(event), *handle);
}

}  // namespace infini::cuda
