#include "infinicore/device_event.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "runtime.h"

namespace infinicore {

using namespace detail;

DeviceEvent::DeviceEvent() : DeviceEvent(context::getDevice()) {}
DeviceEvent::DeviceEvent(uint32_t flags) : DeviceEvent(context::getDevice(), flags) {}
DeviceEvent::DeviceEvent(infinirtEventFlags_t flag) : DeviceEvent(cuda_event_flags(flag)) {}
DeviceEvent::DeviceEvent(Device device) : DeviceEvent(device, uint32_t(context::EVENT_DEFAULT)) {}
DeviceEvent::DeviceEvent(Device device, infinirtEventFlags_t flag)
    : DeviceEvent(device, cuda_event_flags(flag)) {}

DeviceEvent::DeviceEvent(Device device, uint32_t flags)
    : event_(make_event(runtime_of(device, "DeviceEvent"), flags, "DeviceEvent")),
      device_(device) {}

DeviceEvent::DeviceEvent(DeviceEvent &&other) noexcept
    : event_(std::exchange(other.event_, nullptr)),
      device_(other.device_),
      recorded_(std::exchange(other.recorded_, false)) {}

DeviceEvent &DeviceEvent::operator=(DeviceEvent &&other) noexcept {
    std::swap(event_, other.event_);
    std::swap(device_, other.device_);
    std::swap(recorded_, other.recorded_);
    return *this;
}

DeviceEvent::~DeviceEvent() {
    if (!event_) return;
    try {
        RuntimeScope scope(runtime_of(device_, "DeviceEvent"));
        infinirtEventDestroy(event_);
    } catch (...) {  // the thread's device is unknown: leaking one event is safer
    }
}

void DeviceEvent::record() { record(stream_of(runtime_of(device_, "DeviceEvent::record"))); }

void DeviceEvent::record(infinirtStream_t stream) {
    DeviceScope scope(runtime_of(device_, "DeviceEvent::record"));
    context::recordEvent(event_, stream);
    recorded_ = true;
}

void DeviceEvent::synchronize() {
    RuntimeScope scope(runtime_of(device_, "DeviceEvent::synchronize"));
    check(infinirtEventSynchronize(event_), "DeviceEvent::synchronize");
}

bool DeviceEvent::query() const {
    DeviceScope scope(runtime_of(device_, "DeviceEvent::query"));
    return context::queryEvent(event_);
}

float DeviceEvent::elapsed_time(const DeviceEvent &other) const {
    if (device_ != other.device_)
        throw std::runtime_error("DeviceEvent::elapsed_time: the events belong to " +
                                 device_.toString() + " and " + other.device_.toString() +
                                 ": expected one device");
    if (!recorded_ || !other.recorded_)
        throw std::runtime_error(std::string("DeviceEvent::elapsed_time: the ") +
                                 (recorded_ ? "other" : "first") +
                                 " event was not recorded: expected a call of record() before");
    DeviceScope scope(runtime_of(device_, "DeviceEvent::elapsed_time"));
    return context::elapsedTime(event_, other.event_);
}

void DeviceEvent::wait(infinirtStream_t stream) const {
    DeviceRuntime &runtime = runtime_of(device_, "DeviceEvent::wait");
    DeviceScope scope(runtime);
    context::streamWaitEvent(stream ? stream : stream_of(runtime), event_);
}

}  // namespace infinicore
