// A ticket stands for "everything up to here is done": one record of an event, or one wait for a
// stream.
//
// Ownership: tickets are reference-counted. The recorded event, the queue item that will complete
// it, and the items and threads that wait for it hold one reference each. When the last is dropped
// the ticket is returned to Tickets, which never frees the memory, so a late wake-up never touches
// freed memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "sync.h"

namespace infini::cpu {

struct Stream;

class Ticket {
public:
    // A ticket that completes after `arrivals` calls of arrive(), with one reference. Null: no
    // memory.
    static Ticket *make(uint32_t arrivals = 1);

    void hold() { references_.fetch_add(1, std::memory_order_relaxed); }
    void drop();
    bool held_once() const { return references_.load(std::memory_order_acquire) == 1; }

    bool done() const { return state_.load(std::memory_order_acquire) == kDone; }

    // One more arrival is needed. Only while the caller's own arrival is outstanding.
    void expect() { arrivals_.fetch_add(1, std::memory_order_relaxed); }

    // The waiters released by the last arrival. The caller schedules `streams` (linked by
    // Stream::next) and calls wake() if `sleepers`; between the two it can finish its own
    // bookkeeping, so that woken threads see it done.
    struct Freed {
        Stream *streams = nullptr;
        bool sleepers = false;
    };
    Freed arrive();
    void wake() { futex_wake(state_, INT32_MAX); }

    // Parks a stream, which nobody runs meanwhile, until completion. False: already complete.
    bool park(Stream &stream);

    // Blocks the calling thread, which spins for up to `spin_ns` first.
    void wait(int64_t spin_ns);

    bool timed = false;  // note the time of completion
    int64_t time = 0;    // of completion, CLOCK_MONOTONIC

private:
    friend class Tickets;
    static constexpr uint32_t kOpen = 0, kSlept = 1, kDone = 2;

    std::atomic<uint32_t> references_{0};
    std::atomic<uint32_t> arrivals_{0};
    std::atomic<uint32_t> state_{kOpen};  // kSlept: open, and threads sleep on this word
    Mutex lock_;                          // guards parked_ against completion
    Stream *parked_ = nullptr;            // by priority, then in order of arrival
    Ticket *next_free_ = nullptr;
};

// The store of unused tickets.
class Tickets {
public:
    Ticket *take();
    void give(Ticket *ticket);

private:
    Mutex lock_;
    Ticket *free_ = nullptr;
};

}  // namespace infini::cpu
