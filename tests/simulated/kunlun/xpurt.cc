// Simulated libxpurt.so. Like XRE, it has no fills, no stream queries and no event timing.
#include "accelerator/core.h"
#include "facts.h"

using namespace simulated;
using namespace kunlun;

namespace {

int done(bool good) { return good ? 0 : -code_invalid_value; }

int enter(const char *function) {
    if (device() < 0) device() = 0;
    return begin(function);
}

bool ends(int kind, int *dst, int *src) {
    if (kind < memcpy_kind_DEVICE_TO_HOST || kind > memcpy_kind_DEVICE_TO_DEVICE) return false;
    *dst = kind == memcpy_kind_DEVICE_TO_HOST ? -1 : device();
    *src = kind == memcpy_kind_HOST_TO_DEVICE ? -1 : device();
    return true;
}

}  // namespace

#define ENTER() \
    if (int code = enter(__func__)) return code

extern "C" {

int xpu_device_count(int *count) {
    ENTER();
    *count = device_count();
    return 0;
}

int xpu_set_device(int number) {
    ENTER();
    if (number < 0 || number >= device_count()) return -code_invalid_device;
    device() = number;
    return 0;
}

int xpu_current_device(int *number) {
    ENTER();
    *number = device();
    return 0;
}

int xpu_device_get_attr(uint64_t *value, XPUDeviceAttr attribute, int) {
    ENTER();
    constexpr uint64_t kSimulatedModel = 999999;  // which the back end calls simulated
    if (attribute == device_attr_MODEL)
        *value = kSimulatedModel;
    else if (attribute == device_attr_MEM_MAIN_CAPACITY)
        *value = kMemory;
    else if (attribute == device_attr_NUM_CLUSTER)
        *value = 8;
    else
        return -code_invalid_value;
    return 0;
}

int xpu_malloc(void **memory, uint64_t bytes, XPUMemoryKind kind) {
    ENTER();
    if (kind != mem_kind_MAIN) return -code_not_supported;
    *memory = allocate(device(), bytes);
    return *memory ? 0 : -code_out_of_memory;
}

int xpu_free(void *memory) {
    ENTER();
    return done(release(memory));
}

int xpu_host_alloc(void **memory, uint64_t bytes, unsigned int flags) {
    ENTER();
    *memory = flags ? nullptr : pin(bytes);
    return *memory ? 0 : -code_host_out_of_memory;
}

int xpu_host_free(void *memory) {
    ENTER();
    return done(unpin(memory));
}

int xpu_memcpy(void *dst, const void *src, uint64_t bytes, XPUMemcpyKind kind) {
    ENTER();
    int to, from;
    if (!ends(kind, &to, &from)) return -code_invalid_value;
    return copy(dst, to, src, from, bytes, -code_invalid_value);
}

int xpu_memcpy_async(void *dst, const void *src, uint64_t bytes, XPUMemcpyKind kind,
                     XPUStream stream) {
    ENTER();
    int to, from;
    if (!ends(kind, &to, &from)) return -code_invalid_value;
    if ((to < 0 && !is_pinned(dst, bytes)) || (from < 0 && !is_pinned(src, bytes)))
        violate("an asynchronous copy with memory of the host that is not pinned");
    return done(enqueue(stream, [=] { return copy(dst, to, src, from, bytes, -code_unexpected); }));
}

int xpu_memcpy_peer(int dst_device, void *dst, int src_device, const void *src, uint64_t bytes) {
    ENTER();
    return copy(dst, dst_device, src, src_device, bytes, -code_invalid_value);
}

int xpu_stream_create(XPUStream *stream) {
    ENTER();
    *stream = make_stream();
    return 0;
}

int xpu_stream_destroy(XPUStream stream) {
    ENTER();
    return done(destroy_stream(stream));
}

int xpu_wait(XPUStream stream) {
    ENTER();
    int code = 0;
    return synchronize(stream, &code) ? code : -code_invalid_value;
}

int xpu_stream_wait_event(XPUStream stream, XPUEvent event) {
    ENTER();
    return done(wait(stream, event));
}

int xpu_event_create(XPUEvent *event) {
    ENTER();
    *event = make_event(false);
    return 0;
}

int xpu_event_record(XPUEvent event, XPUStream stream) {
    ENTER();
    return done(record(event, stream));
}

int xpu_event_query(XPUEvent event) {
    ENTER();
    bool is_done = false;
    if (!is_recorded(event, &is_done)) return -code_invalid_value;
    return is_done ? 0 : -code_busy;
}

int xpu_event_wait(XPUEvent event) {
    ENTER();
    return done(synchronize_event(event));
}

int xpu_event_destroy(XPUEvent event) {
    ENTER();
    return done(destroy_event(event));
}

}  // extern "C"
