// Simulated libascendcl.so: aclrt*.
#include "accelerator/core.h"
#include "facts.h"

using namespace simulated;
using namespace ascend;

namespace {

constexpr int kOutOfMemory = 207001, kNoDevice = 107001;
bool initialized = false;
thread_local std::string message;

int fail(int code, const char *text) {
    message = text;
    return code;
}

// Called first by every function.
int enter(const char *function, bool needs_device = true) {
    if (int code = begin(function)) return fail(code, "a failure that a test asked for");
    if (!initialized) return fail(code_uninitialized, "aclInit was not called");
    if (needs_device && device() < 0)
        return fail(code_context_null, "no device was set on this thread");
    return 0;
}

int done(bool good) { return good ? 0 : fail(code_invalid_value, "a handle is not valid"); }

// The device of each end of a copy; -1: the host.
bool ends(int kind, int *dst, int *src) {
    if (kind < memcpy_kind_HOST_TO_HOST || kind > memcpy_kind_DEVICE_TO_DEVICE) return false;
    *dst =
        kind == memcpy_kind_HOST_TO_DEVICE || kind == memcpy_kind_DEVICE_TO_DEVICE ? device() : -1;
    *src =
        kind == memcpy_kind_DEVICE_TO_HOST || kind == memcpy_kind_DEVICE_TO_DEVICE ? device() : -1;
    return true;
}

}  // namespace

#define ENTER(...) \
    if (int code = enter(__func__ __VA_OPT__(, ) __VA_ARGS__)) return code

extern "C" {

aclError aclInit(const char *) {
    if (int code = begin(__func__)) return code;
    if (initialized) return code_repeat_initialize;
    initialized = true;
    return 0;
}

const char *aclGetRecentErrMsg(void) { return message.empty() ? nullptr : message.c_str(); }

aclError aclrtGetDeviceCount(uint32_t *count) {
    ENTER(false);
    *count = uint32_t(device_count());
    return 0;
}

aclError aclrtSetDevice(int32_t number) {
    ENTER(false);
    if (number < 0 || number >= device_count()) return fail(kNoDevice, "no such device");
    device() = number;
    return 0;
}

aclError aclrtGetDevice(int32_t *number) {
    ENTER();
    *number = device();
    return 0;
}

const char *aclrtGetSocName(void) { return "Simulated Ascend910B"; }

aclError aclrtSynchronizeDevice(void) {
    ENTER();
    int code = 0;
    return done(synchronize_device(&code)) ? code_invalid_value : code;
}

aclError aclrtMalloc(void **memory, size_t size, aclrtMemMallocPolicy policy) {
    ENTER();
    if (policy < malloc_policy_HUGE_FIRST || policy > malloc_policy_HUGE1G_ONLY_P2P)
        return fail(code_invalid_value, "no such policy");
    *memory = allocate(device(), size);
    return *memory ? 0 : fail(kOutOfMemory, "the device has no room");
}

aclError aclrtFree(void *memory) {
    ENTER();
    return done(release(memory));
}

aclError aclrtMallocHost(void **memory, size_t size) {
    ENTER();
    *memory = pin(size);
    return *memory ? 0 : code_bad_alloc;
}

aclError aclrtFreeHost(void *memory) {
    ENTER();
    return done(unpin(memory));
}

aclError aclrtMemcpy(void *dst, size_t capacity, const void *src, size_t count,
                     aclrtMemcpyKind kind) {
    ENTER();
    int to, from;
    if (count > capacity || !ends(kind, &to, &from)) return done(false);
    // With peer access, either end may be another device.
    if (kind == memcpy_kind_DEVICE_TO_DEVICE) {
        char *there = bytes_of(dst, count, -1), *here = bytes_of(src, count, -1);
        if (!there || !here) return done(false);
        std::copy(here, here + count, there);
        return 0;
    }
    return copy(dst, to, src, from, count, code_invalid_value);
}

aclError aclrtMemcpyAsync(void *dst, size_t capacity, const void *src, size_t count,
                          aclrtMemcpyKind kind, aclrtStream stream) {
    ENTER();
    int to, from;
    if (count > capacity || !ends(kind, &to, &from)) return done(false);
    if ((to < 0 && !is_pinned(dst, count)) || (from < 0 && !is_pinned(src, count)))
        violate("an asynchronous copy with memory of the host that is not pinned");
    return done(enqueue(stream, [=] { return copy(dst, to, src, from, count, code_rt_failure); }));
}

aclError aclrtMemset(void *memory, size_t capacity, int32_t value, size_t count) {
    ENTER();
    char *bytes = count > capacity ? nullptr : bytes_of(memory, count, device());
    if (bytes) std::fill_n(bytes, count, char(value));
    return done(bytes);
}

aclError aclrtMemsetAsync(void *memory, size_t capacity, int32_t value, size_t count,
                          aclrtStream stream) {
    ENTER();
    if (count > capacity) return done(false);
    return done(enqueue(stream, [=, number = device()] {
        char *bytes = bytes_of(memory, count, number);
        if (bytes) std::fill_n(bytes, count, char(value));
        return bytes ? 0 : code_rt_failure;
    }));
}

aclError aclrtGetMemInfo(aclrtMemAttr kind, size_t *free, size_t *total) {
    ENTER();
    if (kind != mem_attr_HBM) return fail(code_invalid_value, "this card has HBM");
    *total = kMemory;
    *free = kMemory - used(device());
    return 0;
}

aclError aclrtCreateStream(aclrtStream *stream) {
    ENTER();
    *stream = make_stream();
    return 0;
}

aclError aclrtDestroyStream(aclrtStream stream) {
    ENTER();
    return done(destroy_stream(stream));
}

aclError aclrtSynchronizeStream(aclrtStream stream) {
    ENTER();
    int code = 0;
    return synchronize(stream, &code) ? code : done(false);
}

aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status) {
    ENTER();
    bool idle = false;
    if (!is_idle(stream, &idle)) return done(false);
    *status = idle ? stream_status_COMPLETE : stream_status_NOT_READY;
    return 0;
}

aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event) {
    ENTER();
    return done(wait(stream, event));
}

aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag) {
    ENTER();
    *event = make_event(flag & event_flags_TIME_LINE);
    return 0;
}

aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
    ENTER();
    return done(record(event, stream));
}

aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus *status) {
    ENTER();
    bool is_done = false;
    if (!is_recorded(event, &is_done)) return done(false);
    *status = is_done ? event_recorded_status_COMPLETE : event_recorded_status_NOT_READY;
    return 0;
}

aclError aclrtSynchronizeEvent(aclrtEvent event) {
    ENTER();
    return done(synchronize_event(event));
}

aclError aclrtDestroyEvent(aclrtEvent event) {
    ENTER();
    return done(destroy_event(event));
}

aclError aclrtEventElapsedTime(float *milliseconds, aclrtEvent start, aclrtEvent end) {
    ENTER();
    return done(elapsed(start, end, milliseconds));
}

}  // extern "C"
