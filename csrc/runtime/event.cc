#include "capture.h"
#include "graph.h"
#include "impl.h"
#include "pool.h"

namespace infini::rt {
namespace {

// An event whose last record was captured has no time and no state of its own.
Error check_not_captured(Call &call, Event &event) {
    if (event.capture_id.load(std::memory_order_acquire) == 0) return infinirtSuccess;
    if (!event.capture.load(std::memory_order_acquire))
        return call.invalid(
            "the event was last recorded in a stream capture that has ended: record it again "
            "first");
    return call.fail(
        infinirtErrorCapturedEvent,
        "the event was last recorded in a stream capture: it can only be waited for by "
        "streams, inside that capture");
}

// Querying or waiting for an event; if the event belongs to a capture, this invalidates the
// capture.
Error check_question(Call &call, Event &event) {
    if (event.capture_id.load(std::memory_order_acquire) == 0) return check_unsafe_call(call);
    std::lock_guard lock(graph_mutex());
    if (Capture *capture = event.capture.load(std::memory_order_relaxed))
        capture->invalidated = true;
    return check_not_captured(call, event);
}

void leave_capture(Event &event) {
    if (event.capture_id.load(std::memory_order_acquire) == 0) return;
    std::lock_guard lock(graph_mutex());
    event.capture.store(nullptr, std::memory_order_relaxed);
    event.capture_id.store(0, std::memory_order_release);
    event.tail.clear();
}

// What is known to come before a point in a stream.
struct Order {
    uint64_t stream = 0, position = 0;
    Clock clock;
};

// Taken before the record is submitted: it may cover less than the record, never more.
Order order_of(Stream &stream) {
    Order order{stream.number, stream.position.load(std::memory_order_acquire), {}};
    if (!stream.has_clock.load(std::memory_order_acquire)) return order;
    std::lock_guard lock(stream.clock_mutex());
    order.clock = stream.clock;
    return order;
}

// Remember what is ordered before the record, for stream-ordered allocation.
void note_record(Event &event, Order order) {
    bool has_clock = !order.clock.empty();
    event.recorded_stream.store(order.stream, std::memory_order_relaxed);
    event.recorded_position.store(order.position, std::memory_order_relaxed);
    event.recorded.store(true, std::memory_order_relaxed);
    if (!has_clock && !event.has_clock.load(std::memory_order_relaxed)) return;
    std::lock_guard lock(event.clock_mutex());
    event.clock = std::move(order.clock);
    event.has_clock.store(has_clock, std::memory_order_release);
}

// Taken before the wait is submitted, for the same reason.
Order order_of(Event &event) {
    Order order{event.recorded_stream.load(std::memory_order_relaxed),
                event.recorded_position.load(std::memory_order_relaxed),
                {}};
    if (!event.has_clock.load(std::memory_order_acquire)) return order;
    std::lock_guard lock(event.clock_mutex());
    order.clock = event.clock;
    return order;
}

void note_wait(Stream &stream, const Order &order) {
    if (order.stream == 0) return;  // never recorded, or recorded by a graph
    std::lock_guard lock(stream.clock_mutex());
    stream.clock.merge(order.clock);
    stream.clock.advance(order.stream, order.position);
    stream.has_clock.store(true, std::memory_order_release);
}

Error capture_record(Call &call, Event &event, Stream &stream, unsigned flags) {
    std::lock_guard lock(graph_mutex());
    if (Error error = check_capture_valid(call, stream)) return error;
    Capture *capture = stream.capture.load(std::memory_order_relaxed);
    if (flags & infinirtEventRecordExternal) {
        Node *node =
            add_node(*capture->graph, infinirtGraphNodeTypeEventRecord, stream.device, stream.tail);
        if (!node) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
        node->event = &event;
        capture_node(stream, *node);
        return infinirtSuccess;
    }
    event.tail = stream.tail;
    event.recorded.store(true, std::memory_order_relaxed);
    event.capture.store(capture, std::memory_order_relaxed);
    event.capture_id.store(capture->id, std::memory_order_release);
    return infinirtSuccess;
}

}  // namespace

namespace impl {

Error EventCreate(Call &call, infinirtEvent_t *event) {
    return EventCreateWithFlags(call, event, infinirtEventDefault);
}

Error EventCreateWithFlags(Call &call, infinirtEvent_t *event, unsigned int flags) {
    constexpr unsigned kKnown =
        infinirtEventBlockingSync | infinirtEventDisableTiming | infinirtEventInterprocess;
    if (flags & ~kKnown)
        return call.invalid(
            "flags is 0x%x: expected a union of infinirtEventBlockingSync, "
            "infinirtEventDisableTiming and infinirtEventInterprocess",
            flags);
    if ((flags & infinirtEventInterprocess) && !(flags & infinirtEventDisableTiming))
        return call.invalid(
            "flags has infinirtEventInterprocess: expected infinirtEventDisableTiming with it");
    Device &device = call.device();
    void *driver = nullptr;
    Error error = device.driver().event_create(device.index, flags, &driver);
    if (error != infinirtSuccess) return call.driver(error, "the device did not make an event");
    Event *made = EventTable::get().make(device, driver, flags);
    if (!made) {
        device.driver().event_destroy(device.index, driver);
        return call.fail(infinirtErrorMemoryAllocation, "too many events");
    }
    *event = handle_of(made);
    return infinirtSuccess;
}

Error EventDestroy(Call &call, Event &event) {
    leave_capture(event);
    Error error = event.device.driver().event_destroy(event.device.index, event.driver);
    EventTable::get().destroy(&event);
    return call.driver(error, "destroying the event");
}

Error EventRecord(Call &call, Event &event, Stream &stream) {
    return EventRecordWithFlags(call, event, stream, infinirtEventRecordDefault);
}

Error EventRecordWithFlags(Call &call, Event &event, Stream &stream, unsigned int flags) {
    if (flags & ~infinirtEventRecordExternal)
        return call.invalid(
            "flags is 0x%x: expected infinirtEventRecordDefault or infinirtEventRecordExternal",
            flags);
    if (&event.device != &stream.device)
        return call.fail(
            infinirtErrorInvalidResourceHandle,
            "argument 1 (event) belongs to device %d, argument 2 (stream) to device %d: "
            "expected the same device",
            event.device.index, stream.device.index);
    if (captures_in_progress.load(std::memory_order_acquire)) [[unlikely]] {
        if (stream.capture.load(std::memory_order_acquire))
            return capture_record(call, event, stream, flags);
        if (stream.legacy)
            if (Error error = check_legacy_use(call, stream.device)) return error;
    }
    if (flags & infinirtEventRecordExternal)
        return call.fail(infinirtErrorIllegalState,
                         "flags has infinirtEventRecordExternal: expected a stream that is being "
                         "captured");
    leave_capture(event);
    InfiniWork work;
    work.kind = INFINI_WORK_RECORD;
    work.as.event = event.driver;
    Order order = order_of(stream);
    if (Error error = submit_now(call, stream, &work, 1)) return error;
    note_record(event, std::move(order));
    return infinirtSuccess;
}

Error EventQuery(Call &call, Event &event) {
    if (Error error = check_question(call, event)) return error;
    Error error = event.device.driver().event_query(event.device.index, event.driver);
    return call.driver(error, "asking about the event");
}

Error EventSynchronize(Call &call, Event &event) {
    if (Error error = check_question(call, event)) return error;
    Error error = event.device.driver().event_synchronize(event.device.index, event.driver);
    if (error != infinirtSuccess) return call.driver(error, "waiting for the event");
    release_unused(event.device);
    return error;
}

Error EventElapsedTime(Call &call, float *ms, Event &start, Event &end) {
    for (Event *event : {&start, &end})
        if (Error error = check_not_captured(call, *event)) return error;
    if (&start.device != &end.device)
        return call.fail(infinirtErrorInvalidResourceHandle,
                         "the events belong to devices %d and %d: expected the same device",
                         start.device.index, end.device.index);
    Error error = start.device.driver().event_elapsed(start.driver, end.driver, ms);
    if (error == infinirtErrorInvalidResourceHandle)
        return call.fail(
            error,
            "an event was never recorded, or was made with infinirtEventDisableTiming: "
            "expected two recorded events with timing");
    return call.driver(error, "measuring the time between the events");
}

Error StreamWaitEvent(Call &call, Stream &stream, Event &event, unsigned int flags) {
    if (flags & ~infinirtEventWaitExternal)
        return call.invalid(
            "flags is 0x%x: expected infinirtEventWaitDefault or infinirtEventWaitExternal", flags);
    bool handled = false;
    if (captures_in_progress.load(std::memory_order_acquire) ||
        event.capture_id.load(std::memory_order_acquire)) [[unlikely]] {
        Error error = capture_wait(call, stream, event, flags, &handled);
        if (error != infinirtSuccess || handled) return error;
    }
    if (flags & infinirtEventWaitExternal)
        return call.fail(infinirtErrorIllegalState,
                         "flags has infinirtEventWaitExternal: expected a stream that is being "
                         "captured");
    InfiniWork work;
    work.kind = INFINI_WORK_WAIT;
    work.as.event = event.driver;
    Order order = order_of(event);
    if (Error error = submit_now(call, stream, &work, 1)) return error;
    note_wait(stream, order);
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
