// Events of devices.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>

#include "exchange.h"
#include "infinicore/device_event.hpp"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {

using infinicore::DeviceEvent;

namespace {

infinirtStream_t stream_from(uintptr_t handle) {
    return reinterpret_cast<infinirtStream_t>(handle);
}

}  // namespace

void bind_events(nb::module_ &m) {
    using released = nb::call_guard<Unlocked>;
    nb::class_<DeviceEvent>(m, "Event")
        .def(
            "__init__",
            [](DeviceEvent *self, nb::handle device, uint32_t flags) {
                new (self) DeviceEvent(device_from(device), flags);
            },
            "device"_a, "flags"_a)
        .def(
            "record",
            [](DeviceEvent &self, std::optional<uintptr_t> stream) {
                stream ? self.record(stream_from(*stream)) : self.record();
            },
            "stream"_a.none() = nb::none())
        .def(
            "wait",
            [](DeviceEvent &self, std::optional<uintptr_t> stream) {
                self.wait(stream ? stream_from(*stream) : nullptr);
            },
            "stream"_a.none() = nb::none())
        .def("synchronize", &DeviceEvent::synchronize, released())
        .def("query", &DeviceEvent::query)
        .def("elapsed_time", &DeviceEvent::elapsed_time, "other"_a)
        .def_prop_ro("device",
                     [](const DeviceEvent &e) { return nb::borrow(device_object(e.device())); })
        .def_prop_ro("handle",
                     [](const DeviceEvent &e) { return reinterpret_cast<uintptr_t>(e.get()); })
        .def_prop_ro("is_recorded", &DeviceEvent::is_recorded);
    m.attr("EVENT_DISABLE_TIMING") = int(infinicore::context::EVENT_DISABLE_TIMING);
    m.attr("EVENT_BLOCKING") = int(infinicore::context::EVENT_BLOCKING_SYNC);
}

}  // namespace infini::python
