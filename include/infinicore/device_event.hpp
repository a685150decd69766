#pragma once

#include <cstdint>

#include "context.hpp"

namespace infinicore {

// An event of a device. Movable, not copyable.
class INFINI_EXPORT DeviceEvent {
public:
    DeviceEvent();
    explicit DeviceEvent(uint32_t flags);
    explicit DeviceEvent(infinirtEventFlags_t flag);
    explicit DeviceEvent(Device device);
    DeviceEvent(Device device, uint32_t flags);  // context::EventFlags, or CUDA's own
    DeviceEvent(Device device, infinirtEventFlags_t flag);
    DeviceEvent(DeviceEvent &&other) noexcept;
    DeviceEvent &operator=(DeviceEvent &&other) noexcept;
    ~DeviceEvent();

    void record();
    void record(infinirtStream_t stream);
    void synchronize();
    bool query() const;
    // Milliseconds from this event to the other. Both must have been recorded, on one device.
    float elapsed_time(const DeviceEvent &other) const;
    void wait(infinirtStream_t stream = nullptr) const;

    Device device() const { return device_; }
    infinirtEvent_t get() const { return event_; }
    bool is_recorded() const { return recorded_; }

private:
    infinirtEvent_t event_ = nullptr;
    Device device_;
    bool recorded_ = false;
};

}  // namespace infinicore
