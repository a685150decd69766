// When memory that was freed in one stream may be used in another.
#include "pool.h"

namespace infini::rt {
namespace {

// Whether everything that precedes a free in this stream has finished. May return false although it
// has.
bool idle(Stream &stream) {
    const InfiniDriver &driver = stream.device.driver();
    int device = stream.device.index;
    return driver.stream_query(device, stream.driver) == infinirtSuccess &&
           (!stream.blocking() || driver.stream_query(device, nullptr) == infinirtSuccess);
}

}  // namespace

FreeBin *Pool::bin_of(Stream &stream, bool make) {
    if (last_bin_ && last_bin_->number == stream.number) [[likely]]
        return last_bin_;
    auto found = bins_.find(stream.number);
    if (found == bins_.end()) {
        if (!make) return nullptr;
        found = bins_.emplace(stream.number, std::make_unique<FreeBin>()).first;
        FreeBin &bin = *found->second;
        bin.number = stream.number;
        bin.device = &stream.device;
        bin.legacy = stream.legacy;
        bin.blocking = stream.blocking();
    }
    return last_bin_ = found->second.get();
}

Error Pool::record_event(Stream &stream, void **event) {
    const InfiniDriver &driver = stream.device.driver();
    int number = stream.device.index;
    InfiniWork record;
    record.kind = INFINI_WORK_RECORD;
    if (&stream.device == &device && !spare_events_.empty()) {
        record.as.event = spare_events_.back();
        spare_events_.pop_back();
        if (driver.submit(number, stream.driver, &record, 1) == infinirtSuccess) {
            *event = record.as.event;
            return infinirtSuccess;
        }
        driver.event_destroy(number, record.as.event);  // from before a fork, perhaps
    }
    Error error = driver.event_create(number, infinirtEventDisableTiming, &record.as.event);
    if (error != infinirtSuccess) return error;
    error = driver.submit(number, stream.driver, &record, 1);
    if (error == infinirtSuccess)
        *event = record.as.event;
    else
        driver.event_destroy(number, record.as.event);
    return error;
}

// The legacy stream and blocking streams are ordered with each other without an explicit item. A
// free therefore has a position of its own: an event follows it only if it was recorded later.
Error Pool::note_free(Call &call, Stream &stream, FreeBin **bin, FreePoint **result) {
    *bin = bin_of(stream, true);
    FreePoint *&last = (*bin)->last;
    uint64_t legacy_position = stream.device.legacy->position.load(std::memory_order_relaxed);
    uint64_t position = stream.position.load(std::memory_order_relaxed);
    bool same_place = last && last->position == position && !stream.legacy &&
                      (!stream.blocking() || last->legacy_position == legacy_position);
    if (same_place) {
        *result = last;
        return infinirtSuccess;
    }
    // A free in the legacy stream also follows the blocking streams, which a query may not cover.
    // Its event is recorded on demand, since that stream always exists.
    void *event = nullptr;
    bool complete = !stream.legacy && idle(stream);
    if (!complete && !stream.legacy) {
        call.thread.explanation.clear();
        if (Error error = record_event(stream, &event))
            return call.driver(error, "marking the free in the stream");
    }
    FreePoint *point;
    if (spare_points_.empty()) {
        point = new FreePoint;
    } else {
        point = spare_points_.back();
        spare_points_.pop_back();
    }
    position = stream.position.fetch_add(1, std::memory_order_relaxed) + 1;
    *point = {++last_order_, position, legacy_position, event, complete, 1};
    if (last) drop(last);
    last = *result = point;
    if (!complete) {
        poll(**bin, !stream.legacy);
        ++point->references;
        (*bin)->pending.push_back(point);
    }
    return infinirtSuccess;
}

void Pool::drop(FreePoint *point) {
    if (--point->references == 0) spare_points_.push_back(point);
}

// An event whose last record is not needed any more.
void Pool::keep_event(Device &of, void *event) {
    if (&of == &device && spare_events_.size() < 64)
        spare_events_.push_back(event);
    else
        of.driver().event_destroy(of.index, event);
}

// A place left the list: it was passed, or is not needed any more.
void Pool::pass(FreeBin &bin, FreePoint *point) {
    if (point->event) keep_event(*bin.device, point->event);
    point->event = nullptr;
    point->complete = true;
    drop(point);
}

// The first event at or after a pending place. Null if none is recorded.
void *Pool::event_behind(const FreeBin &bin, const FreePoint &point) {
    for (const FreePoint *pending : bin.pending)
        if (pending->order >= point.order && pending->event) return pending->event;
    return nullptr;
}

// Places of one stream are passed in order, so a completed event covers all places before it.
void Pool::poll(FreeBin &bin, bool ask) {
    auto &pending = bin.pending;
    auto pop_front = [&] {
        FreePoint *oldest = pending.front();
        pending.pop_front();
        pass(bin, oldest);
    };
    // Places that only the list holds need no query. In steady use they are the newest.
    while (!pending.empty() && pending.back()->references == 1) {
        FreePoint *newest = pending.back();
        pending.pop_back();
        pass(bin, newest);
    }
    while (!pending.empty() && pending.front()->references == 1) pop_front();
    if (!ask || pending.empty()) return;
    if (bin.legacy && !pending.back()->event)
        record_event(*bin.device->legacy, &pending.back()->event);
    const InfiniDriver &driver = bin.device->driver();
    while (!pending.empty()) {
        void *event = event_behind(bin, *pending.front());
        if (!event || driver.event_query(bin.device->index, event) == infinirtErrorNotReady) break;
        while (pending.front()->event != event) pop_front();
        pop_front();
    }
    Thread::current().explanation.clear();
}

bool Pool::ordered_before(Stream &stream, const FreeBin &bin, const FreePoint &point) {
    bool legacy_after = stream.legacy && bin.blocking && bin.device == &stream.device;
    return legacy_after || ordered_after(stream, bin.number, point.position) ||
           by_legacy(stream, bin, point);
}

// Both wait for the legacy stream, in which something was done after the free, or that free itself.
bool Pool::by_legacy(Stream &stream, const FreeBin &bin, const FreePoint &point) {
    return bin.device == &stream.device && bin.blocking && stream.blocking() &&
           stream.device.legacy->position.load(std::memory_order_relaxed) > point.legacy_position;
}

PoolBlock *Pool::find(Stream &stream, size_t granules) {
    auto any = [](const PoolBlock &) { return true; };
    FreeBin *bin = bin_of(stream, false);
    PoolBlock *own = bin ? bin->lists.best(granules, any) : nullptr;
    if (own && own->granules == granules) return own;
    PoolBlock *settled = settled_->lists.best(granules, any);
    return !own || (settled && settled->granules < own->granules) ? settled : own;
}

PoolBlock *Pool::find_thoroughly(Stream &stream, size_t granules) {
    if (unsettled() == 0) return nullptr;
    settle(opportunistic.load(std::memory_order_relaxed));
    if (PoolBlock *block = find(stream, granules)) return block;
    if (!follow_dependencies.load(std::memory_order_relaxed)) return nullptr;
    for (auto &[number, bin] : bins_) {
        if (number == stream.number) continue;
        PoolBlock *block = bin->lists.best(granules, [&](const PoolBlock &candidate) {
            return ordered_before(stream, *bin, *candidate.point);
        });
        if (!block) continue;
        // The last operation in the legacy stream may have been a free, which adds no item.
        void *event = nullptr;
        if (by_legacy(stream, *bin, *block->point)) {
            if (record_event(*stream.device.legacy, &event) != infinirtSuccess) continue;
            keep_event(stream.device, event);
        }
        return block;
    }
    return nullptr;
}

PoolBlock *Pool::find_to_wait_for(Stream &stream, size_t granules) {
    for (auto &[number, bin] : bins_) {
        PoolBlock *block = bin->lists.best(granules, [](const PoolBlock &) { return true; });
        InfiniWork wait;
        wait.kind = INFINI_WORK_WAIT;
        wait.as.event = block ? event_behind(*bin, *block->point) : nullptr;
        if (!wait.as.event || &bin->device->backend != &stream.device.backend) continue;
        const InfiniDriver &driver = stream.device.driver();
        if (driver.submit(stream.device.index, stream.driver, &wait, 1) != infinirtSuccess)
            continue;
        stream.position.fetch_add(1, std::memory_order_relaxed);
        std::lock_guard lock(stream.clock_mutex());
        stream.clock.advance(number, block->point->position);
        stream.has_clock.store(true, std::memory_order_release);
        return block;
    }
    return nullptr;
}

}  // namespace infini::rt
