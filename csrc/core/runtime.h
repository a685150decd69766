// The state of each used device, and of each thread.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "allocator.h"
#include "contract.h"
#include "infinicore/context.hpp"
#include "launch.h"
#include "static_tls.h"

namespace infinicore::detail {

class Recorder;

// Made when a device is first used; lives as long as the process.
struct INFINI_EXPORT DeviceRuntime {
    explicit DeviceRuntime(Device device);

    const Device device;
    InfiniTarget target{};
    infinirtStream_t stream = nullptr;  // null on the CPU: work there is done by the caller
    infiniopHandle_t handle = nullptr;
    Allocator allocator;
    Allocator pinned;  // host memory that the device reaches

    bool is_cpu() const { return device.getType() == Device::Type::CPU; }
};

// Throws if there is no such device. `function` is the client's call, for the message.
INFINI_EXPORT DeviceRuntime &runtime_of(const Device &device, const char *function = "infinicore");

struct ThreadState {
    DeviceRuntime *runtime = nullptr;   // null: this thread has not used a device yet
    Recorder *recorder = nullptr;       // records operations instead of running them
    infinirtStream_t stream = nullptr;  // chosen by the client for `runtime`; null: the runtime's
    // Keeps all allocations, e.g. while a graph is captured: they will be used again.
    std::vector<std::shared_ptr<Memory>> *keeper = nullptr;
};

extern INFINI_EXPORT INFINI_STATIC_TLS constinit thread_local ThreadState thread_state_storage;
inline ThreadState &thread_state() { return thread_state_storage; }

// For a scope, this thread's operations run immediately, even while it records.
class PausedRecording {
public:
    PausedRecording() : before_(std::exchange(thread_state().recorder, nullptr)) {}
    ~PausedRecording() { thread_state().recorder = before_; }
    PausedRecording(const PausedRecording &) = delete;

private:
    Recorder *before_;
};

// Sets the default device for a thread that has not chosen one.
INFINI_EXPORT DeviceRuntime &choose_default_runtime();
inline DeviceRuntime &current_runtime() {
    DeviceRuntime *runtime = thread_state().runtime;
    return runtime ? *runtime : choose_default_runtime();
}
INFINI_EXPORT void set_current_runtime(DeviceRuntime &runtime);  // in InfiniRT too

// The stream for this thread's work on a device.
inline infinirtStream_t stream_of(const DeviceRuntime &runtime) {
    const ThreadState &thread = thread_state();
    return thread.stream && thread.runtime == &runtime ? thread.stream : runtime.stream;
}

// An event of a device; the flags have CUDA's values.
INFINI_EXPORT infinirtEvent_t make_event(const DeviceRuntime &runtime, uint32_t flags,
                                         const char *function);
uint32_t cuda_event_flags(infinirtEventFlags_t flag);

// For a scope, this thread's calls of InfiniRT use a device.
class INFINI_EXPORT RuntimeScope {
public:
    explicit RuntimeScope(const DeviceRuntime &runtime);
    RuntimeScope(Device device, const char *function);
    ~RuntimeScope();
    RuntimeScope(const RuntimeScope &) = delete;

private:
    void choose(Device device, const char *function);
    infiniDevice_t type_{};
    int index_ = -1;  // -1: it was the device already
};

// Changes the thread's device for a scope (in InfiniRT too).
class INFINI_EXPORT DeviceScope {
public:
    explicit DeviceScope(DeviceRuntime &runtime);
    ~DeviceScope();
    DeviceScope(const DeviceScope &) = delete;

private:
    RuntimeScope scope_;
    DeviceRuntime *before_;
    infinirtStream_t stream_;
};

// Throws std::runtime_error with the message of this thread's last failing call.
[[noreturn]] INFINI_EXPORT void throw_last_error(const char *what);
inline void check(infiniStatus_t status, const char *what) {
    if (status != INFINI_STATUS_SUCCESS) [[unlikely]]
        throw_last_error(what);
}

}  // namespace infinicore::detail
