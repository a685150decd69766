// A ticket stands for "everything up to here is done": one record of an event, or one wait for a
// stream.
//
// Ownership: tickets are counted references. The event that was recorded, the item in the queue
// that will complete it, the items that await it and the threads that wait for it hold one each.
// When the last is dropped the ticket goes back to Tickets, which keeps the memory for ever, so a
// late wake-up never touches freed memory.
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

    // What the last arrival sets free. The caller schedules `streams` (linked by Stream::next) and
    // calls wake() if `sleepers`; between the two it can finish its own bookkeeping, so that the
    // woken find it done.
    struct Freed {
        Stream *streams = nullptr;
        bool sleepers = false;
    };
    Freed arrive();
    void wake() { futex_wake(state_, INT32_MAX); }

    // Puts a stream, which nobody runs meanwhile, aside until completion. False: complete already.
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
