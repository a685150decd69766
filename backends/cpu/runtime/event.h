// Events: the ticket of the last record. Queues hold tickets, never events, so an event can be
// recorded again or destroyed at any time without affecting waits for an earlier record.
#pragma once

#include "error.h"
#include "fork.h"
#include "queue.h"
#include "shared_event.h"
#include "ticket.h"

namespace infini::cpu {

class Event {
public:
    Event(unsigned flags, SharedEvent *shared) : flags_(flags), shared_(shared) {}
    ~Event();

    static Error create(unsigned flags, Event **event);
    static Error import(const infinirtIpcEventHandle_t &handle, Event **event);
    Error export_to(infinirtIpcEventHandle_t *handle) const;

    // Success, or the error that an event from before a fork() gives.
    Error usable() const {
        return generation_ == fork_generation ? infinirtSuccess : made_before_fork("event");
    }

    // Recorded and complete immediately: no work precedes it. False: no memory.
    bool record_now();
    // Recorded at the position of `item` in a queue. False: no memory.
    bool record(Item &item);
    // Makes `item` wait for the last record. False: it is complete, or there was none.
    bool await(Item &item);

    bool complete();
    void wait();
    static Error elapsed(Event &start, Event &end, float *milliseconds);

private:
    Ticket *current();  // with a reference; null before the first record

    const unsigned flags_;
    const unsigned generation_ = fork_generation;
    Mutex lock_;
    Ticket *ticket_ = nullptr;   // of the last record; guarded by lock_
    SharedEvent *const shared_;  // set: an interprocess event, without a ticket
};

}  // namespace infini::cpu
