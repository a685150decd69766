// The context of the calling thread: devices, streams, memory.
#include <nanobind/stl/string.h>

#include "../runtime/interruptible.h"
#include "exchange.h"
#include "infini/ext.h"
#include "infini/op_ext.h"
#include "recorder.h"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

namespace context = infinicore::context;
namespace core = infinicore::detail;

nb::dict stats_of(nb::handle device) {
    context::MemoryStats stats = context::memoryStats(device_from(device));
    nb::dict made;
    made["allocated"] = stats.allocated;
    made["reserved"] = stats.reserved;
    made["peak_allocated"] = stats.peak_allocated;
    made["peak_reserved"] = stats.peak_reserved;
    made["allocations"] = stats.allocations;
    made["from_device"] = stats.from_device;
    return made;
}

// Device types with devices: (name, type, count).
nb::list kinds() {
    nb::list made;
    for (int i = 0; i < infinirtGetBackendCount(); ++i) {
        infinirtBackendInfo info{};
        info.size = sizeof info;
        if (infinirtGetBackendInfo(i, &info) == INFINI_STATUS_SUCCESS)
            made.append(nb::make_tuple(info.name, info.device_type, info.device_count));
    }
    return made;
}

}  // namespace

void bind_context(nb::module_ &m) {
    using released = nb::call_guard<Unlocked>;
    m.def("set_device", [](nb::handle device) { context::setDevice(device_from(device)); });
    m.def("get_device", [] { return nb::borrow(device_object(context::getDevice())); });
    m.def("device_count", [](int type) { return context::getDeviceCount(Device::Type(type)); });
    m.def("kinds", kinds);
    m.def("get_stream", [] { return reinterpret_cast<uintptr_t>(context::getStream()); });
    m.def("stream_on", [](nb::handle device) {
        return reinterpret_cast<uintptr_t>(core::stream_of(core::runtime_of(device_from(device))));
    });
    // Sets the stream for the current device's work; 0: its own stream. Returns the previous one.
    m.def("set_stream", [](uintptr_t stream) {
        core::current_runtime();
        core::ThreadState &thread = core::thread_state();
        auto before = reinterpret_cast<uintptr_t>(thread.stream);
        thread.stream = reinterpret_cast<infinirtStream_t>(stream);
        return before;
    });
    m.def("sync_stream", [] {
        wait_before(core::current_runtime());
        Unlocked unlocked;
        context::syncStream();
    });
    m.def("sync_device", [] {
        wait_before(core::current_runtime());
        Unlocked unlocked;
        context::syncDevice();
    });
    // For calls that wait themselves and report errors.
    m.def("wait_unless_interrupted", [](nb::handle device) {
        core::DeviceRuntime &runtime = core::runtime_of(device_from(device));
        core::DeviceScope scope(runtime);
        wait_unless_interrupted(core::stream_of(runtime));
    });
    m.def("set_batch_invariant", [](bool enabled) { infiniopSetBatchInvariant(enabled); });
    m.def("is_batch_invariant", [] { return infiniopGetBatchInvariant() != 0; });
    m.def("set_allow_tf32", [](bool enabled) { infiniopSetAllowTF32(enabled); });
    m.def("allows_tf32", [] { return infiniopGetAllowTF32() != 0; });
    m.def("trim_memory", context::trimMemory, released());
    m.def("memory_stats", stats_of, "device"_a);
    m.def("reset_peak_memory_stats",
          [](nb::handle device) { context::resetPeakMemoryStats(device_from(device)); });
    m.def("record_stream", [](const Tensor &tensor, uintptr_t stream) {
        core::runtime_of(tensor->device())
            .allocator.record_stream(*tensor->memory(), reinterpret_cast<infinirtStream_t>(stream));
    });
    m.def("is_graph_recording", context::isGraphRecording);
    m.def("start_graph_recording", context::startGraphRecording);
    m.def("cancel_graph_recording", context::cancelGraphRecording);
}

}  // namespace infini::python
