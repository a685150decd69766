// The functions of the first generation that do not follow from the CUDA-aligned API by renaming.
#include "first_generation.h"

#include <cstdio>
#include <cstring>

#include "call.h"
#include "device_names.h"
#include "infini/ext.h"
#include "memory.h"

namespace infini::rt::first {
namespace {

infiniStatus_t fail(const char *function, infinirtError_t code, infiniStatus_t status,
                    const std::string &sentence) {
    record_error(Thread::current(), code, std::string("infinirt") + function + ": " + sentence);
    return status;
}

infiniStatus_t missing(const char *function, const char *argument) {
    return fail(function, infinirtErrorInvalidValue, INFINI_STATUS_NULL_POINTER,
                std::string(argument) + " is null: expected a valid pointer");
}

// Whether the result can be written. The caller decides about null pointers.
bool writable(const char *function, const char *argument, const void *pointer, size_t bytes,
              infiniStatus_t *status) {
    if (!pointer || probe_host(Thread::current().memory, pointer, bytes, true)) return true;
    *status = fail(function, infinirtErrorInvalidValue, INFINI_STATUS_BAD_PARAM,
                   std::string(argument) + " points to no memory that can be written");
    return false;
}

std::string kind_text(int kind) {
    const char *word = device_kind_name(kind);
    return word ? word : "kind " + std::to_string(kind);
}

// The device, or null with *status saying why not.
Device *look_up(const char *function, int kind, int number, infiniStatus_t *status) {
    Backend *backend = find_backend(kind);
    if (!backend || backend->devices.empty()) {
        bool known = device_kind_name(kind) || backend;
        *status = fail(
            function, infinirtErrorInvalidDevice,
            known ? INFINI_STATUS_DEVICE_NOT_FOUND : INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
            "no " + kind_text(kind) + " device: " +
                (backend ? backend->reason : std::string("no back end of that kind was found")));
        return nullptr;
    }
    if (number < 0 || static_cast<size_t>(number) >= backend->devices.size()) {
        *status = fail(function, infinirtErrorInvalidDevice, INFINI_STATUS_DEVICE_NOT_FOUND,
                       "device_id is " + std::to_string(number) + ": expected 0 to " +
                           std::to_string(backend->devices.size() - 1));
        return nullptr;
    }
    return backend->devices[number].get();
}

}  // namespace

void enter() {
    Thread &thread = Thread::current();
    if (thread.device) [[likely]]
        return;
    Backend *backend =
        getenv("INFINI_DEVICE") ? default_backend() : find_backend(INFINI_DEVICE_CPU);
    if (backend && !backend->devices.empty()) thread.use(*backend);
}

infiniStatus_t Init() {
    backends();
    enter();
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t GetAllDeviceCount(int *count_array) {
    if (!count_array) return missing("GetAllDeviceCount", "count_array");
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!writable("GetAllDeviceCount", "count_array", count_array,
                  INFINI_DEVICE_TYPE_COUNT * sizeof *count_array, &status))
        return status;
    std::memset(count_array, 0, INFINI_DEVICE_TYPE_COUNT * sizeof *count_array);
    for (const Backend *backend : backends())
        if (backend->kind < INFINI_DEVICE_TYPE_COUNT && !backend->devices.empty())
            count_array[backend->kind] = static_cast<int>(backend->devices.size());
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t GetDeviceCount(infiniDevice_t device, int *count) {
    if (!count) return missing("GetDeviceCount", "count");
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!writable("GetDeviceCount", "count", count, sizeof *count, &status)) return status;
    Backend *backend = find_backend(device);
    if (!backend && !device_kind_name(device))
        return fail("GetDeviceCount", infinirtErrorInvalidDevice,
                    INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED,
                    "device is " + std::to_string(device) + ": expected an infiniDevice_t");
    *count = backend ? static_cast<int>(backend->devices.size()) : 0;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t SetDevice(infiniDevice_t device, int device_id) {
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    Device *found = look_up("SetDevice", device, device_id, &status);
    if (!found) return status;
    Thread &thread = Thread::current();
    Error error = thread.use(*found);
    if (error == infinirtSuccess) return INFINI_STATUS_SUCCESS;
    return fail("SetDevice", error, status_of(error), thread.explanation);
}

infiniStatus_t GetDevice(infiniDevice_t *device_ptr, int *device_id_ptr) {
    if (!device_ptr && !device_id_ptr)
        return missing("GetDevice", "both device_ptr and device_id_ptr");
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!writable("GetDevice", "device_ptr", device_ptr, sizeof *device_ptr, &status) ||
        !writable("GetDevice", "device_id_ptr", device_id_ptr, sizeof *device_id_ptr, &status))
        return status;
    enter();
    Device *device = Thread::current().device;
    if (!device)
        return fail("GetDevice", infinirtErrorNoDevice, INFINI_STATUS_DEVICE_NOT_FOUND,
                    default_backend_problem());
    if (device_ptr) *device_ptr = static_cast<infiniDevice_t>(device->backend.kind);
    if (device_id_ptr) *device_id_ptr = device->index;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t GetMemInfo(infiniDevice_t device, int device_id, size_t *free_bytes,
                          size_t *total_bytes) {
    if (!free_bytes) return missing("GetMemInfo", "free_bytes");
    if (!total_bytes) return missing("GetMemInfo", "total_bytes");
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!writable("GetMemInfo", "free_bytes", free_bytes, sizeof *free_bytes, &status))
        return status;
    if (!writable("GetMemInfo", "total_bytes", total_bytes, sizeof *total_bytes, &status))
        return status;
    Device *found = look_up("GetMemInfo", device, device_id, &status);
    if (!found) return status;
    return status_of(found->driver().device_memory(found->index, free_bytes, total_bytes));
}

infiniStatus_t GetDeviceResourceSnapshot(infiniDevice_t device, int device_id,
                                         infinirtDeviceResourceSnapshot_t *snapshot) {
    if (!snapshot) return missing("GetDeviceResourceSnapshot", "snapshot");
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!writable("GetDeviceResourceSnapshot", "snapshot", snapshot, sizeof *snapshot, &status))
        return status;
    Device *found = look_up("GetDeviceResourceSnapshot", device, device_id, &status);
    if (!found) return status;
    *snapshot = {};
    snapshot->device_type = device;
    snapshot->device_id = device_id;
    Error error =
        found->driver().device_memory(found->index, &snapshot->free_bytes, &snapshot->total_bytes);
    if (error != infinirtSuccess) return status_of(error);
    snapshot->used_bytes = snapshot->total_bytes - snapshot->free_bytes;
    snapshot->reserved_bytes = snapshot->used_bytes;
    // The contract has no utilisation counters, so only the memory is reported; the rest stays zero
    // and unmarked.
    snapshot->valid_fields = INFINIRT_RESOURCE_FIELD_MEMORY_CAPACITY;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t EventCreateWithFlags(infinirtEvent_t *event_ptr, uint32_t flags) {
    if (!event_ptr) return missing("EventCreateWithFlags", "event_ptr");
    enter();
    if (flags &
        ~(INFINIRT_EVENT_DISABLE_TIMING | INFINIRT_EVENT_BLOCKING_SYNC | infinirtEventInterprocess))
        return fail("EventCreateWithFlags", infinirtErrorInvalidValue, INFINI_STATUS_BAD_PARAM,
                    "flags is " + std::to_string(flags) +
                        ": expected a union of INFINIRT_EVENT_DISABLE_TIMING and "
                        "INFINIRT_EVENT_BLOCKING_SYNC");
    // The two generations swap these two bits.
    unsigned aligned = (flags & infinirtEventInterprocess) |
                       (flags & INFINIRT_EVENT_DISABLE_TIMING ? infinirtEventDisableTiming : 0) |
                       (flags & INFINIRT_EVENT_BLOCKING_SYNC ? infinirtEventBlockingSync : 0);
    return status_of(
        ::infinirtEventCreateWithFlags(reinterpret_cast<::infinirtEvent_t *>(event_ptr), aligned));
}

infiniStatus_t EventQuery(infinirtEvent_t event, infinirtEventStatus_t *status_ptr) {
    if (!status_ptr) return missing("EventQuery", "status_ptr");
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!writable("EventQuery", "status_ptr", status_ptr, sizeof *status_ptr, &status))
        return status;
    enter();
    infinirtError_t error = ::infinirtEventQuery(static_cast<::infinirtEvent_t>(event));
    if (error != infinirtSuccess && error != infinirtErrorNotReady) return status_of(error);
    *status_ptr = error == infinirtSuccess ? INFINIRT_EVENT_COMPLETE : INFINIRT_EVENT_NOT_READY;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t GraphInstantiate(infinirtGraphExec_t *graph_exec_ptr, infinirtGraph_t graph,
                                infinirtGraphNode_t *node_ptr, char *log_buffer,
                                size_t buffer_size) {
    if (!graph_exec_ptr) return missing("GraphInstantiate", "graph_exec_ptr");
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (!writable("GraphInstantiate", "node_ptr", node_ptr, sizeof *node_ptr, &status) ||
        (buffer_size &&
         !writable("GraphInstantiate", "log_buffer", log_buffer, buffer_size, &status)))
        return status;
    enter();
    infinirtGraphInstantiateParams parameters{};
    infinirtError_t error = ::infinirtGraphInstantiateWithParams(
        reinterpret_cast<::infinirtGraphExec_t *>(graph_exec_ptr),
        static_cast<::infinirtGraph_t>(graph), &parameters);
    if (node_ptr) *node_ptr = parameters.errNode_out;
    if (log_buffer && buffer_size)
        snprintf(log_buffer, buffer_size, "%s", error ? infiniGetLastErrorMessage() : "");
    return status_of(error);
}

}  // namespace infini::rt::first
