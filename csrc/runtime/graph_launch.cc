// Launching instantiated graphs.
#include "exec.h"
#include "graph_memory.h"
#include "impl.h"

namespace infini::rt {
namespace {

// A client may destroy an event that a graph uses; the driver must not use it afterwards.
Error check_events(Call &call, const Exec &exec) {
    for (const EventUse &use : exec.event_uses) {
        const Event *event = EventTable::get().find(use.event);
        if (event && event->driver == use.driver) continue;
        return call.invalid(
            "an event that the graph %s was destroyed: expected it to live as long as the graph is "
            "launched",
            use.records ? "records" : "waits for");
    }
    return infinirtSuccess;
}

// The known state of the events that the launch records is discarded: they now represent points in
// the graph. Returns those whose last record was captured.
std::vector<Event *> forget_records(const Exec &exec) {
    std::vector<Event *> captured;
    for (const EventUse &use : exec.event_uses) {
        if (!use.records) continue;
        use.event->recorded_stream.store(0, std::memory_order_relaxed);
        use.event->recorded.store(true, std::memory_order_relaxed);
        if (use.event->capture_id.load(std::memory_order_acquire)) captured.push_back(use.event);
    }
    return captured;
}

void leave_captures(const std::vector<Event *> &events) {
    GraphLock lock;
    for (Event *event : events) {
        event->capture.store(nullptr, std::memory_order_relaxed);
        event->capture_id.store(0, std::memory_order_release);
        event->tail.clear();
    }
}

Error submit_to(Call &call, Device &device, void *stream, const InfiniWork *work, size_t count) {
    Error error = device.driver().submit(device.index, stream, work, count);
    if (error == infinirtSuccess) [[likely]]
        return error;
    return call.driver(error, "the device did not take the work of the graph");
}

Error submit_segments(Call &call, Exec &exec, void *lane0, bool wait_first) {
    size_t skip = wait_first ? 0 : 1;
    const InfiniWork *work = exec.program.work.data();
    for (const Segment &segment : exec.program.segments) {
        const Lane &lane = exec.lanes[segment.lane];
        Error error = submit_to(call, *lane.device, segment.lane == 0 ? lane0 : lane.stream,
                                work + segment.begin + skip, segment.end - segment.begin - skip);
        if (error != infinirtSuccess) return error;
        skip = 0;
    }
    return infinirtSuccess;
}

// The event that signals to the graph that a launch from another device's stream was reached.
Error start_event(Call &call, Exec &exec, Device &device, void **event) {
    for (const DriverEvent &start : exec.starts)
        if (start.device == &device) {
            *event = start.event;
            return infinirtSuccess;
        }
    Error error = device.driver().event_create(device.index, infinirtEventDisableTiming, event);
    if (error != infinirtSuccess)
        return call.driver(error, "the device did not make an event for the launch");
    exec.starts.push_back({&device, *event});
    return infinirtSuccess;
}

// Lane 0 belongs to another device than the stream: it gets a stream of its own, which the launch
// stream starts and then waits for.
Error launch_from_elsewhere(Call &call, Exec &exec, Stream &stream, bool wait_first) {
    Lane &lane0 = exec.lanes[0];
    if (!lane0.stream) {
        Error error = lane0.device->driver().stream_create(
            lane0.device->index, infinirtStreamNonBlocking, 0, &lane0.stream);
        if (error != infinirtSuccess)
            return call.driver(error, "the device did not make a stream for the graph");
    }
    void *start = nullptr;
    if (Error error = start_event(call, exec, stream.device, &start)) return error;

    InfiniWork around[2];
    around[0].kind = INFINI_WORK_WAIT;
    around[0].as.event = exec.done;
    around[1].kind = INFINI_WORK_RECORD;
    around[1].as.event = start;
    Error error =
        submit_to(call, stream.device, stream.driver, around + !wait_first, 1 + wait_first);
    if (error != infinirtSuccess) return error;
    exec.program.work[0].as.event = start;
    error = submit_segments(call, exec, lane0.stream, true);
    exec.program.work[0].as.event = exec.done;
    if (error != infinirtSuccess) return error;
    return submit_to(call, stream.device, stream.driver, around, 1);
}

}  // namespace

Error launch(Call &call, Exec &exec, Stream &stream) {
    std::vector<Event *> captured;
    Error error;
    {
        std::lock_guard lock(exec.mutex());
        if (&stream.device.backend != &exec.home->backend)
            return call.invalid(
                "argument 2 (stream) is of kind %s, the graph's nodes are of kind %s: expected the "
                "same device type",
                stream.device.backend.name.c_str(), exec.home->backend.name.c_str());
        if (!exec.event_uses.empty()) {
            if (Error dead = check_events(call, exec)) return dead;
            captured = forget_records(exec);
        }
        if (exec.memory_use.any()) {
            bool free_first = exec.flags & infinirtGraphInstantiateFlagAutoFreeOnLaunch;
            if (Error refused = use_memory(call, exec.memory_use, free_first)) return refused;
        }
        bool wait_first = exec.last_stream != 0 && exec.last_stream != stream.number;
        exec.last_stream = stream.number;
        error = &stream.device == exec.home ? submit_segments(call, exec, stream.driver, wait_first)
                                            : launch_from_elsewhere(call, exec, stream, wait_first);
        stream.position.fetch_add(1, std::memory_order_relaxed);
    }
    if (!captured.empty()) leave_captures(captured);
    return error;
}

namespace impl {

Error GraphLaunch(Call &call, Exec &graphExec, Stream &stream) {
    if (captures_in_progress.load(std::memory_order_acquire)) [[unlikely]] {
        // As in CUDA: an instantiated graph cannot be recorded, only a graph as a child node.
        if (stream.capture.load(std::memory_order_acquire))
            return refuse_in_capture(
                call, stream,
                "a graph cannot be launched into a stream that is being captured: "
                "add it with infinirtGraphAddChildGraphNode");
        if (stream.legacy)
            if (Error error = check_legacy_use(call, stream.device)) return error;
    }
    return launch(call, graphExec, stream);
}

// Everything that a launch needs was allocated by the instantiation.
Error GraphUpload(Call &call, Exec &, Stream &stream) {
    if (stream.capture.load(std::memory_order_acquire))
        return refuse_in_capture(call, stream,
                                 "a graph cannot be uploaded in a stream that is being captured");
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
