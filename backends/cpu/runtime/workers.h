// The threads that run streams.
//
// A stream that becomes ready gets an idle thread or a new one. Work on data takes one of a few
// slots, so that many busy streams do not compete for memory bandwidth; when all are taken, ready
// streams wait, the most urgent first. Host functions need no slot and may block forever: other
// streams get other threads. Idle threads stay for a while.
#pragma once

#include <atomic>
#include <cstdint>

#include "error.h"
#include "stream.h"
#include "sync.h"
#include "ticket.h"

namespace infini::cpu {

class Workers {
public:
    Workers();

    // Ensures that there is at least one thread, which never exits.
    Error start() {
        if (threads_.load(std::memory_order_relaxed) > 0) [[likely]]
            return infinirtSuccess;
        return start_first();
    }

    int slots() const { return limit_; }

    // Takes over the run of a stream with an item at the front of its queue.
    void schedule(Stream *stream);

private:
    struct Worker;

    static void *thread_main(void *worker);
    void serve(Worker &self);
    Stream *run(Worker &self, Stream *stream);
    Stream *go_on_with(Stream *freed);
    bool wait_for_work(Worker &self, bool spins);

    // Slots.
    bool enter(Worker &self, Stream *stream);
    void leave(Worker &self);
    bool outranked(const Stream &stream, int streak) const;
    void push_ready(Stream *stream);
    Stream *pop_ready();

    // Threads.
    Error start_first();
    void hand_over(Worker *worker, Stream *stream, bool slot);
    bool spawn(Stream *stream, bool slot);
    Worker *take_idle();
    bool add_idle(Worker &worker);
    void remove_idle(Worker &worker);

    const int limit_;  // slots
    std::atomic<int> threads_{0};

    Mutex lock_;       // guards all below
    int running_ = 0;  // slots taken
    struct {
        Stream *first = nullptr, *last = nullptr;
    } ready_[kRanks];  // streams that wait for a slot
    std::atomic<uint32_t> ready_ranks_{
        0};                   // bit r: ready_[r] is not empty; read without the lock, too
    Worker *idle_ = nullptr;  // the one that was busy last is first
    int idle_count_ = 0;
    Worker *spinner_ = nullptr;  // the one idle thread that has not gone to sleep yet
};

}  // namespace infini::cpu
