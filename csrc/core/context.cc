#include "infinicore/context.hpp"

#include <cstring>
#include <stdexcept>
#include <string>

#include "infini/ext.h"
#include "runtime.h"

namespace infinicore::context {

using namespace detail;

namespace {

void require_not_recording(const char *function) {
    if (thread_state().recorder) [[unlikely]]
        throw std::runtime_error(std::string(function) +
                                 ": cannot be recorded: it would happen now, while the graph is "
                                 "being recorded, and not when it runs");
}

// Memory of the CPU device is host memory, and host memory that the runtime did not allocate is
// equivalent, so the direction of a copy does not matter there.
infinirtMemcpyKind_t direction(const DeviceRuntime &runtime, infinirtMemcpyKind_t kind) {
    return runtime.is_cpu() ? INFINIRT_MEMCPY_H2H : kind;
}

// In stream order. Memory of another device type is copied too; the runtime has no stream order
// across device types, so that copy is waited for.
void copy(const char *function, void *dst, const void *src, size_t size, infinirtMemcpyKind_t kind,
          bool async) {
    require_not_recording(function);
    if (size == 0) return;
    DeviceRuntime &runtime = current_runtime();
    RuntimeScope scope(runtime);
    infinirtStream_t stream = stream_of(runtime);
    kind = direction(runtime, kind);
    if (infinirtMemcpyAsync(dst, src, size, kind, stream) != INFINI_STATUS_SUCCESS) {
        check(infinirtStreamSynchronize(stream), function);
        check(infinirtMemcpy(dst, src, size, kind), function);
    }
    if (!async) check(infinirtStreamSynchronize(stream), function);
}

}  // namespace

// ---- Devices ------------------------------------------------------------------------------------

void setDevice(Device device) { set_current_runtime(runtime_of(device, "setDevice")); }

Device getDevice() { return current_runtime().device; }

size_t getDeviceCount(Device::Type type) {
    size_t count = 0;
    check(infinirtInit(), "getDeviceCount");
    for (int i = 0; i < infinirtGetBackendCount(); ++i) {
        infinirtBackendInfo info{};
        info.size = sizeof info;
        if (infinirtGetBackendInfo(i, &info) == INFINI_STATUS_SUCCESS && info.device_count > 0 &&
            info.device_type == int(type))
            count = size_t(info.device_count);
    }
    return count;
}

infinirtStream_t getStream() { return stream_of(current_runtime()); }

infiniopHandle_t getInfiniopHandle(Device device) {
    return runtime_of(device, "getInfiniopHandle").handle;
}

void syncStream() {
    DeviceRuntime &runtime = current_runtime();
    RuntimeScope scope(runtime);
    check(infinirtStreamSynchronize(stream_of(runtime)), "syncStream");
}

void syncDevice() {
    RuntimeScope scope(current_runtime());
    check(infinirtDeviceSynchronize(), "syncDevice");
}

// ---- Memory -------------------------------------------------------------------------------------

std::shared_ptr<Memory> allocateMemory(size_t size) {
    DeviceRuntime &runtime = current_runtime();
    return runtime.allocator.allocate(size, stream_of(runtime));
}

std::shared_ptr<Memory> allocateHostMemory(size_t size) {
    DeviceRuntime &runtime = runtime_of(Device::cpu(), "allocateHostMemory");
    return runtime.allocator.allocate(size, stream_of(runtime));
}

std::shared_ptr<Memory> allocatePinnedHostMemory(size_t size) {
    DeviceRuntime &runtime = current_runtime();
    return runtime.pinned.allocate(size, stream_of(runtime));
}

void trimMemory() {
    DeviceRuntime &runtime = current_runtime();
    runtime.allocator.trim();
    runtime.pinned.trim();
}

MemoryStats memoryStats(Device device) {
    return runtime_of(device, "memoryStats").allocator.stats();
}

void resetPeakMemoryStats(Device device) {
    runtime_of(device, "resetPeakMemoryStats").allocator.reset_peaks();
}

void memcpyH2D(void *dst, const void *src, size_t size, bool async) {
    copy("memcpyH2D", dst, src, size, INFINIRT_MEMCPY_H2D, async);
}

void memcpyD2H(void *dst, const void *src, size_t size) {
    copy("memcpyD2H", dst, src, size, INFINIRT_MEMCPY_D2H, false);
}

void memcpyD2D(void *dst, const void *src, size_t size, bool async) {
    copy("memcpyD2D", dst, src, size, INFINIRT_MEMCPY_D2D, async);
}

void memcpyH2H(void *dst, const void *src, size_t size) {
    require_not_recording("memcpyH2H");
    if (size == 0) return;
    if (!infiniIsHostMemory(src, size, 0) || !infiniIsHostMemory(dst, size, 1))
        throw std::runtime_error("memcpyH2H: expected " + std::to_string(size) +
                                 " bytes of host memory in src to read, and in dst to write");
    std::memmove(dst, src, size);
}

void setDeviceMemory(void *ptr, int value, size_t count) {
    setDeviceMemoryAsync(ptr, value, count, getStream());
    syncStream();
}

void setDeviceMemoryAsync(void *ptr, int value, size_t count, infinirtStream_t stream) {
    require_not_recording("setDeviceMemory");
    RuntimeScope scope(current_runtime());
    check(infinirtMemsetAsync(ptr, value, count, stream), "setDeviceMemory");
}

// ---- Events -------------------------------------------------------------------------------------

infinirtEvent_t createEvent() { return createEventWithFlags(uint32_t(EVENT_DEFAULT)); }

infinirtEvent_t createEventWithFlags(uint32_t flags) {
    return make_event(current_runtime(), flags, "createEvent");
}

infinirtEvent_t createEventWithFlags(infinirtEventFlags_t flag) {
    return createEventWithFlags(cuda_event_flags(flag));
}

void recordEvent(infinirtEvent_t event, infinirtStream_t stream) {
    require_not_recording("recordEvent");
    DeviceRuntime &runtime = current_runtime();
    RuntimeScope scope(runtime);
    check(infinirtEventRecord(event, stream ? stream : stream_of(runtime)), "recordEvent");
}

bool queryEvent(infinirtEvent_t event) {
    infinirtEventStatus_t status = INFINIRT_EVENT_NOT_READY;
    RuntimeScope scope(current_runtime());
    check(infinirtEventQuery(event, &status), "queryEvent");
    return status == INFINIRT_EVENT_COMPLETE;
}

void synchronizeEvent(infinirtEvent_t event) {
    RuntimeScope scope(current_runtime());
    check(infinirtEventSynchronize(event), "synchronizeEvent");
}

void destroyEvent(infinirtEvent_t event) {
    RuntimeScope scope(current_runtime());
    check(infinirtEventDestroy(event), "destroyEvent");
}

float elapsedTime(infinirtEvent_t start, infinirtEvent_t end) {
    float milliseconds = 0;
    RuntimeScope scope(current_runtime());
    check(infinirtEventElapsedTime(&milliseconds, start, end), "elapsedTime");
    return milliseconds;
}

void streamWaitEvent(infinirtStream_t stream, infinirtEvent_t event) {
    require_not_recording("streamWaitEvent");
    RuntimeScope scope(current_runtime());
    check(infinirtStreamWaitEvent(stream, event), "streamWaitEvent");
}

}  // namespace infinicore::context
