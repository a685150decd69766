#include "runtime.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "../runtime/fork_lock.h"
#include "infini/ext.h"
#include "infinicore/collectives.hpp"
#include "keep.h"
#include "memory_error.h"
#include "out_of_memory.h"
#include "runtime_services.h"

namespace infinicore::detail {
namespace {

// By type and number. Never freed: tensors may be destroyed after everything else.
constexpr size_t kMostTypes = 64, kMostDevices = 64;
constinit std::atomic<DeviceRuntime *> runtimes[kMostTypes][kMostDevices]{};

DeviceRuntime &make_runtime(const Device &device, const char *function) {
    size_t type = size_t(device.getType()), index = device.getIndex();
    if (type >= kMostTypes || index >= kMostDevices)
        throw std::runtime_error(std::string(function) + ": no device " + device.toString() +
                                 ": expected a type below " + std::to_string(kMostTypes) +
                                 " and a number below " + std::to_string(kMostDevices));
    RuntimeScope scope(device, function);
    auto made = std::make_unique<DeviceRuntime>(device);
    // The handlers of the runtime and the operators are already registered: they run inside these.
    infini::rt::install_fork_handlers();
    DeviceRuntime *there = nullptr;
    if (runtimes[type][index].compare_exchange_strong(there, made.get())) return *made.release();
    if (made->stream) {
        infiniLetGo(made->stream);
        infinirtStreamDestroy(made->stream);
    }
    infiniopDestroyHandle(made->handle);
    return *there;
}

Device default_device() {
    Device best;
    const char *wanted = std::getenv("INFINI_DEVICE");
    bool chosen = wanted && *wanted, found = false;
    check(infinirtInit(), "getDevice");
    for (int i = 0; i < infinirtGetBackendCount(); ++i) {
        infinirtBackendInfo info{};
        info.size = sizeof info;
        if (infinirtGetBackendInfo(i, &info) != INFINI_STATUS_SUCCESS || info.device_count <= 0)
            continue;
        Device device(Device::Type(info.device_type), 0);
        if (chosen ? std::strcmp(info.name, wanted) == 0 : device.getType() >= best.getType())
            best = device, found = true;
    }
    if (found) return best;
    // InfiniRT has the message.
    infiniDevice_t type{};
    check(infinirtGetDevice(&type, nullptr), "getDevice");
    return Device(Device::Type(type), 0);
}

}  // namespace

constinit thread_local ThreadState thread_state_storage;

DeviceRuntime::DeviceRuntime(Device device)
    : device(device), allocator(*this), pinned(*this, Allocator::Kind::Pinned) {
    check(infiniTargetOfThread("setDevice", &target), "setDevice");
    check(infiniopCreateHandle(&handle), "setDevice");
    if (!is_cpu() && infinirtStreamCreate(&stream) != INFINI_STATUS_SUCCESS) {
        infiniopDestroyHandle(handle);
        throw_last_error("setDevice");
    }
    if (stream) infiniKeep(stream);
}

DeviceRuntime &runtime_of(const Device &device, const char *function) {
    size_t type = size_t(device.getType()), index = device.getIndex();
    if (type < kMostTypes && index < kMostDevices) [[likely]]
        if (DeviceRuntime *there = runtimes[type][index].load(std::memory_order_acquire)) [[likely]]
            return *there;
    return make_runtime(device, function);
}

DeviceRuntime &choose_default_runtime() {
    DeviceRuntime &runtime = runtime_of(default_device(), "getDevice");
    set_current_runtime(runtime);
    return runtime;
}

void set_current_runtime(DeviceRuntime &runtime) {
    check(
        infinirtSetDevice(infiniDevice_t(runtime.device.getType()), int(runtime.device.getIndex())),
        "setDevice");
    ThreadState &thread = thread_state();
    if (thread.runtime != &runtime) thread.stream = nullptr;
    thread.runtime = &runtime;
}

// ---- Events -------------------------------------------------------------------------------------

namespace {

// InfiniRT's first generation swaps two of CUDA's bits.
uint32_t swap_event_bits(uint32_t flags) {
    return (flags & ~3u) | (flags & 1u) << 1 | (flags & 2u) >> 1;
}

static_assert(INFINIRT_EVENT_DISABLE_TIMING == 1 && context::EVENT_DISABLE_TIMING == 2 &&
              INFINIRT_EVENT_BLOCKING_SYNC == 2 && context::EVENT_BLOCKING_SYNC == 1);

}  // namespace

uint32_t cuda_event_flags(infinirtEventFlags_t flag) { return swap_event_bits(uint32_t(flag)); }

infinirtEvent_t make_event(const DeviceRuntime &runtime, uint32_t flags, const char *function) {
    constexpr uint32_t kAll =
        context::EVENT_BLOCKING_SYNC | context::EVENT_DISABLE_TIMING | context::EVENT_INTERPROCESS;
    if (flags & ~kAll)
        throw std::runtime_error(std::string(function) + ": flags is " + std::to_string(flags) +
                                 ": expected a union of EVENT_BLOCKING_SYNC (1), "
                                 "EVENT_DISABLE_TIMING (2) and EVENT_INTERPROCESS (4)");
    infinirtEvent_t event = nullptr;
    RuntimeScope scope(runtime);
    check(infinirtEventCreateWithFlags(&event, swap_event_bits(flags)), function);
    return event;
}

// ---- Scopes -------------------------------------------------------------------------------------

RuntimeScope::RuntimeScope(const DeviceRuntime &runtime) {
    InfiniTarget now;
    check(infiniTargetOfThread("infinicore", &now), "infinicore");
    if (now.device == runtime.target.device) [[likely]]
        return;
    choose(runtime.device, "infinicore");
}

RuntimeScope::RuntimeScope(Device device, const char *function) { choose(device, function); }

void RuntimeScope::choose(Device device, const char *function) {
    int index = 0;
    check(infinirtGetDevice(&type_, &index), function);
    check(infinirtSetDevice(infiniDevice_t(device.getType()), int(device.getIndex())), function);
    index_ = index;
}

RuntimeScope::~RuntimeScope() {
    if (index_ >= 0) infinirtSetDevice(type_, index_);
}

DeviceScope::DeviceScope(DeviceRuntime &runtime)
    : scope_(runtime), before_(thread_state().runtime), stream_(thread_state().stream) {
    thread_state().runtime = &runtime;
    if (before_ != &runtime) thread_state().stream = nullptr;
}

DeviceScope::~DeviceScope() {
    thread_state().runtime = before_;
    thread_state().stream = stream_;
}

void release_host_memory() noexcept {
    static thread_local bool releasing = false;  // a failure here must not start this again
    if (releasing) return;
    releasing = true;
    for (auto &runtime : runtimes[size_t(Device::Type::CPU)])
        if (DeviceRuntime *made = runtime.load()) {
            made->allocator.note_shortage();
            made->pinned.note_shortage();
        }
    releasing = false;
}

void throw_last_error(const char *what) {
    std::string sentence = std::string(what) + ": " + infiniGetLastErrorMessage();
    if (infiniFailedWaitCheck()) throw collectives::Error(sentence);
    if (!infiniMemoryRanOut()) throw std::runtime_error(sentence);
    release_host_memory();
    throw OutOfMemory(sentence);
}

}  // namespace infinicore::detail
