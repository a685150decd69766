#include "ticket.h"

#include <mutex>
#include <new>

#include "process.h"
#include "stream.h"

namespace infini::cpu {

Ticket *Ticket::make(uint32_t arrivals) {
    Ticket *ticket = process->tickets.take();
    if (!ticket) return nullptr;
    ticket->references_.store(1, std::memory_order_relaxed);
    ticket->arrivals_.store(arrivals, std::memory_order_relaxed);
    ticket->state_.store(arrivals ? kOpen : kDone, std::memory_order_relaxed);
    ticket->timed = false;
    return ticket;
}

void Ticket::drop() {
    if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) process->tickets.give(this);
}

Ticket::Freed Ticket::arrive() {
    if (arrivals_.fetch_sub(1, std::memory_order_acq_rel) != 1) return {};
    if (timed) time = now_ns();
    std::lock_guard guard(lock_);
    Freed freed;
    freed.sleepers = state_.exchange(kDone, std::memory_order_acq_rel) == kSlept;
    freed.streams = parked_;
    parked_ = nullptr;
    return freed;
}

bool Ticket::park(Stream &stream) {
    std::lock_guard guard(lock_);
    if (done()) return false;
    Stream **place = &parked_;
    while (*place && (*place)->rank <= stream.rank) place = &(*place)->next;
    stream.next = *place;
    *place = &stream;
    return true;
}

void Ticket::wait(int64_t spin_ns) {
    if (spin(spin_ns, [&] { return done(); })) return;
    uint32_t seen = kOpen;
    state_.compare_exchange_strong(seen, kSlept, std::memory_order_acq_rel);
    while (!done()) futex_wait(state_, kSlept);
}

Ticket *Tickets::take() {
    std::lock_guard guard(lock_);
    if (!free_) {
        constexpr int kBatch = 64;
        auto *batch = new (std::nothrow) Ticket[kBatch];
        if (!batch) return nullptr;
        for (int i = 0; i < kBatch; ++i) {
            batch[i].next_free_ = free_;
            free_ = &batch[i];
        }
    }
    Ticket *ticket = free_;
    free_ = ticket->next_free_;
    return ticket;
}

void Tickets::give(Ticket *ticket) {
    std::lock_guard guard(lock_);
    ticket->next_free_ = free_;
    free_ = ticket;
}

}  // namespace infini::cpu
