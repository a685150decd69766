#include "event.h"

#include <mutex>
#include <new>
#include <utility>

namespace infini::cpu {

Error Event::create(unsigned flags, Event **event) {
    SharedEvent *shared = nullptr;
    if (flags & infinirtEventInterprocess) {
        if (!(flags & infinirtEventDisableTiming))
            return fail(
                infinirtErrorInvalidValue,
                "an event with infinirtEventInterprocess also needs infinirtEventDisableTiming");
        if (Error error = SharedEvent::create(&shared)) return error;
    }
    *event = new (std::nothrow) Event(flags, shared);
    if (*event) return infinirtSuccess;
    if (shared) shared->drop();
    return fail(infinirtErrorMemoryAllocation, "no memory for an event");
}

Error Event::import(const infinirtIpcEventHandle_t &handle, Event **event) {
    SharedEvent *shared = nullptr;
    if (Error error = SharedEvent::import(handle, &shared)) return error;
    *event =
        new (std::nothrow) Event(infinirtEventInterprocess | infinirtEventDisableTiming, shared);
    if (*event) return infinirtSuccess;
    shared->drop();
    return fail(infinirtErrorMemoryAllocation, "no memory for an event");
}

Error Event::export_to(infinirtIpcEventHandle_t *handle) const {
    if (!shared_)
        return fail(infinirtErrorInvalidResourceHandle,
                    "only events created with infinirtEventInterprocess can be exported");
    shared_->export_to(handle);
    return infinirtSuccess;
}

Event::~Event() {
    if (ticket_) ticket_->drop();
    if (shared_) shared_->drop();
}

bool Event::record_now() {
    if (shared_) {
        shared_->complete(shared_->record());
        return true;
    }
    bool timed = !(flags_ & infinirtEventDisableTiming);
    int64_t time = timed ? now_ns() : 0;
    std::lock_guard guard(lock_);
    // References are taken from ticket_ under the lock: a ticket with one reference is owned only
    // by us, and complete.
    if (!ticket_ || !ticket_->held_once()) {
        Ticket *fresh = Ticket::make(0);
        if (!fresh) return false;
        fresh->timed = timed;
        if (Ticket *last = std::exchange(ticket_, fresh)) last->drop();
    }
    ticket_->time = time;
    return true;
}

bool Event::record(Item &item) {
    if (shared_) {
        shared_->hold();
        item.kind = Kind::SharedComplete;
        item.shared = {shared_, shared_->record()};
        return true;
    }
    Ticket *fresh = Ticket::make();
    if (!fresh) return false;
    fresh->timed = !(flags_ & infinirtEventDisableTiming);
    fresh->hold();
    item.kind = Kind::Complete;
    item.ticket = fresh;
    std::lock_guard guard(lock_);
    if (Ticket *last = std::exchange(ticket_, fresh)) last->drop();
    return true;
}

bool Event::await(Item &item) {
    if (shared_) {
        uint64_t number = shared_->last_record();
        if (shared_->complete_at(number)) return false;
        shared_->hold();
        item.kind = Kind::SharedAwait;
        item.shared = {shared_, number};
        return true;
    }
    std::lock_guard guard(lock_);
    if (!ticket_ || ticket_->done()) return false;
    ticket_->hold();
    item.kind = Kind::Await;
    item.ticket = ticket_;
    return true;
}

bool Event::complete() {
    if (shared_) return shared_->complete_or_abandoned(shared_->last_record());
    std::lock_guard guard(lock_);
    return !ticket_ || ticket_->done();
}

Ticket *Event::current() {
    std::lock_guard guard(lock_);
    if (ticket_) ticket_->hold();
    return ticket_;
}

void Event::wait() {
    int64_t spinning = flags_ & infinirtEventBlockingSync ? 0 : spin_long_ns();
    if (shared_) return shared_->wait(shared_->last_record(), spinning);
    Ticket *ticket = current();
    if (!ticket) return;
    ticket->wait(spinning);
    ticket->drop();
}

Error Event::elapsed(Event &start, Event &end, float *milliseconds) {
    if ((start.flags_ | end.flags_) & infinirtEventDisableTiming)
        return fail(infinirtErrorInvalidResourceHandle,
                    "%s was created with infinirtEventDisableTiming, so it has no time",
                    start.flags_ & infinirtEventDisableTiming ? "start" : "end");
    Ticket *first = start.current(), *second = end.current();
    Error error = infinirtSuccess;
    if (!first || !second)
        error = fail(infinirtErrorInvalidResourceHandle, "%s was never recorded",
                     first ? "end" : "start");
    else if (!first->done() || !second->done())
        error = infinirtErrorNotReady;
    else
        *milliseconds = float(double(second->time - first->time) * 1e-6);
    if (first) first->drop();
    if (second) second->drop();
    return error;
}

}  // namespace infini::cpu
