// Simulated libcnrt.so.
#include <algorithm>
#include <cstdio>

#include "accelerator/core.h"
#include "facts.h"

using namespace simulated;
using namespace cambricon;

namespace {

constexpr int kNotReady = 1;

int done(bool good) { return good ? 0 : code_invalid_value; }

// The device of each end of a copy; -1: the host.
bool ends(int kind, int *dst, int *src) {
    if (kind < memcpy_kind_HostToDev || kind > memcpy_kind_HostToHost) return false;
    *dst = kind == memcpy_kind_HostToDev || kind == memcpy_kind_DevToDev ? device() : -1;
    *src = kind == memcpy_kind_DevToHost || kind == memcpy_kind_DevToDev ? device() : -1;
    return true;
}

// A thread begins with device 0.
int enter(const char *function) {
    if (device() < 0) device() = 0;
    return begin(function);
}

}  // namespace

#define ENTER() \
    if (int code = enter(__func__)) return code

extern "C" {

cnrtRet_t cnrtGetDeviceCount(unsigned int *count) {
    ENTER();
    *count = unsigned(device_count());
    return 0;
}

cnrtRet_t cnrtSetDevice(int number) {
    ENTER();
    if (number < 0 || number >= device_count()) return code_no_device;
    device() = number;
    return 0;
}

cnrtRet_t cnrtGetDevice(int *number) {
    ENTER();
    *number = device();
    return 0;
}

cnrtRet_t cnrtGetDeviceProperties(cnrtDeviceProp_t *properties, int) {
    ENTER();
    snprintf(reinterpret_cast<char *>(properties), 256, "Simulated MLU590");
    return 0;
}

cnrtRet_t cnrtDeviceGetAttribute(int *value, cnrtDeviceAttr_t attribute, int) {
    ENTER();
    if (attribute == device_attr_TotalMemSize_MB)
        *value = int(kMemory >> 20);
    else if (attribute == device_attr_ClusterCount || attribute == device_attr_McorePerCluster)
        *value = 4;
    else
        return code_invalid_value;
    return 0;
}

cnrtRet_t cnrtSyncDevice(void) {
    ENTER();
    int code = 0;
    return synchronize_device(&code) ? code : code_invalid_value;
}

cnrtRet_t cnrtMalloc(void **memory, size_t bytes) {
    ENTER();
    *memory = allocate(device(), bytes);
    return *memory ? 0 : code_out_of_memory;
}

cnrtRet_t cnrtFree(void *memory) {
    ENTER();
    return done(release(memory));
}

cnrtRet_t cnrtHostMalloc(void **memory, size_t bytes) {
    ENTER();
    *memory = pin(bytes);
    return *memory ? 0 : code_host_out_of_memory;
}

cnrtRet_t cnrtFreeHost(void *memory) {
    ENTER();
    return done(unpin(memory));
}

cnrtRet_t cnrtMemcpy(void *dst, void *src, size_t bytes, cnrtMemTransDir_t kind) {
    ENTER();
    int to, from;
    if (!ends(kind, &to, &from)) return code_invalid_value;
    return copy(dst, to, src, from, bytes, code_invalid_value);
}

cnrtRet_t cnrtMemcpyAsync_V3(void *dst, void *src, size_t bytes, cnrtQueue_t queue,
                             cnrtMemTransDir_t kind) {
    ENTER();
    int to, from;
    if (!ends(kind, &to, &from)) return code_invalid_value;
    if ((to < 0 && !is_pinned(dst, bytes)) || (from < 0 && !is_pinned(src, bytes)))
        violate("an asynchronous copy with memory of the host that is not pinned");
    return done(
        enqueue(queue, [=] { return copy(dst, to, src, from, bytes, code_invalid_value); }));
}

cnrtRet_t cnrtMemcpyPeer(void *dst, int dst_device, void *src, int src_device, size_t bytes) {
    ENTER();
    return copy(dst, dst_device, src, src_device, bytes, code_invalid_value);
}

cnrtRet_t cnrtMemset(void *memory, int value, size_t bytes) {
    ENTER();
    char *there = bytes_of(memory, bytes, device());
    if (there) std::fill_n(there, bytes, char(value));
    return done(there);
}

cnrtRet_t cnrtMemsetAsync(void *memory, int value, size_t bytes, cnrtQueue_t queue) {
    ENTER();
    return done(enqueue(queue, [=, number = device()] {
        char *there = bytes_of(memory, bytes, number);
        if (there) std::fill_n(there, bytes, char(value));
        return done(there);
    }));
}

cnrtRet_t cnrtMemGetInfo(size_t *free, size_t *total) {
    ENTER();
    *total = kMemory;
    *free = kMemory - used(device());
    return 0;
}

cnrtRet_t cnrtQueueCreate(cnrtQueue_t *queue) {
    ENTER();
    *queue = make_stream();
    return 0;
}

cnrtRet_t cnrtQueueDestroy(cnrtQueue_t queue) {
    ENTER();
    return done(destroy_stream(queue));
}

cnrtRet_t cnrtQueueSync(cnrtQueue_t queue) {
    ENTER();
    int code = 0;
    return synchronize(queue, &code) ? code : code_invalid_value;
}

cnrtRet_t cnrtQueueQuery(cnrtQueue_t queue) {
    ENTER();
    bool idle = false;
    if (!is_idle(queue, &idle)) return code_invalid_value;
    return idle ? 0 : kNotReady;
}

cnrtRet_t cnrtQueueWaitNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue, unsigned int flag) {
    ENTER();
    return done(flag == 0 && wait(queue, notifier));
}

cnrtRet_t cnrtNotifierCreate(cnrtNotifier_t *notifier) {
    ENTER();
    *notifier = make_event(true);
    return 0;
}

cnrtRet_t cnrtNotifierCreateWithFlags(cnrtNotifier_t *notifier, unsigned int flags) {
    ENTER();
    *notifier = make_event(!(flags & event_flags_DISABLE_TIMING));
    return 0;
}

cnrtRet_t cnrtPlaceNotifier(cnrtNotifier_t notifier, cnrtQueue_t queue) {
    ENTER();
    return done(record(notifier, queue));
}

cnrtRet_t cnrtQueryNotifier(cnrtNotifier_t notifier) {
    ENTER();
    bool is_done = false;
    if (!is_recorded(notifier, &is_done)) return code_invalid_value;
    return is_done ? 0 : kNotReady;
}

cnrtRet_t cnrtWaitNotifier(cnrtNotifier_t notifier) {
    ENTER();
    return done(synchronize_event(notifier));
}

cnrtRet_t cnrtNotifierDestroy(cnrtNotifier_t notifier) {
    ENTER();
    return done(destroy_event(notifier));
}

cnrtRet_t cnrtNotifierElapsedTime(cnrtNotifier_t start, cnrtNotifier_t end, float *milliseconds) {
    ENTER();
    return done(elapsed(start, end, milliseconds));
}

const char *cnrtGetErrorStr(cnrtRet_t error) {
    return error == code_out_of_memory ? "out of device memory" : "a simulated failure";
}

}  // extern "C"
