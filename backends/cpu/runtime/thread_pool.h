// The one pool of threads for loops over data, shared by all streams and devices of the process.
//
// The caller always takes part, so a loop ends even when every other thread is busy, and loops may
// be nested. Several callers at once share the helpers. A loop is divided into chunks, and each
// thread has a part of them, always the same one for loops of the same shape, for cache locality; a
// thread that has finished its part steals chunks of others.
//
// Frequently written data of a thread has its own cache line: the counter of its part, and its
// seat, which holds the loop that it works on. A loop has joined when no seat refers to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sync.h"

namespace infini::cpu {

class LoopCosts;

class ThreadPool {
public:
    ThreadPool();

    // INFINI_NUM_THREADS, else the number of processors that this process may use.
    static size_t default_size();

    size_t size() const { return size_; }  // threads that can work on a loop, the caller included

    // The number in use: initially all. Running loops keep theirs.
    size_t limit() const { return limit_.load(std::memory_order_relaxed); }
    void set_limit(size_t threads);

    // How many a loop is worth that takes one thread `ranges` times 10 microseconds.
    size_t worth_threads(double ranges);

    // Calls body(begin, end) for ranges that together cover [0, count), none smaller than `grain`
    // but the last, in no particular order and on several threads. Returns when all are done.
    // `body` must not throw.
    template <class Body>
    void parallel_for(size_t count, size_t grain, const Body &body) {
        // A grain of one item says only that the item takes no less than a range does.
        parallel_for(count, grain, grain > 1 ? double(count) / double(grain) : kUnknown, body);
    }

    // The same, on as many threads as `ranges` times 10 microseconds of work are worth.
    template <class Body>
    void parallel_for(size_t count, size_t grain, double ranges, const Body &body) {
        if (limit() == 1 || count <= grain) {
            if (count) body(size_t(0), count);
            return;
        }
        Loop loop;
        loop.call = [](const void *self, size_t begin, size_t end) {
            (*static_cast<const Body *>(self))(begin, end);
        };
        loop.body = &body;
        loop.count = count;
        run(loop, grain, ranges);
    }

    // The same on so many threads, whatever the limit, to measure what threads cost.
    template <class Body>
    void parallel_on(size_t threads, size_t count, const Body &body) {
        Loop loop;
        loop.call = [](const void *self, size_t begin, size_t end) {
            (*static_cast<const Body *>(self))(begin, end);
        };
        loop.body = &body;
        loop.count = count;
        run_on(loop, 1, threads);
    }

private:
    static constexpr double kUnknown = 1e300;

    // The number of taken chunks of a thread's part, tagged with the number of the loop: a counter
    // of an earlier loop counts as 0, so counters need no reset.
    struct alignas(64) Part {
        std::atomic<uint64_t> taken{0};
    };

    struct Loop {
        void (*call)(const void *body, size_t begin, size_t end);
        const void *body;
        size_t count, piece;
        uint32_t pieces, threads;  // a part for each of the threads
        uint32_t number;           // of the loops in this slot
        size_t place;
        Part *parts;

        bool take(size_t part, size_t &piece) const;
        void work(size_t part) const;
    };

    struct alignas(64) Seat {
        static constexpr uint32_t kSpinning = 0, kAsleep = 1, kWorking = 2;
        std::atomic<uint32_t> state{kSpinning};  // a futex
        std::atomic<uint32_t> inside{0};         // the slot of the loop, counted from 1
    };

    // A slot in which a loop is offered.
    struct alignas(64) Place {
        std::atomic<bool> used{false};
        uint32_t number = 0;               // of loops so far
        std::atomic<uint32_t> waiting{0};  // a futex of a caller that waits for the last helpers
        std::unique_ptr<Part[]> parts;
    };
    static constexpr size_t kPlaces = 8;  // concurrent loops; more run only in their caller

    void run(Loop &loop, size_t grain, double ranges);
    void run_on(Loop &loop, size_t grain, size_t limit);
    const LoopCosts &costs();
    const LoopCosts &find_costs();
    bool offer(Loop &loop);
    void take_back(const Loop &loop);
    size_t part_of(size_t helper, size_t place) const;
    size_t helper_of(size_t part, size_t place) const;
    void wake_below(const Loop &loop, size_t part);
    void help_once(size_t helper);
    void help(size_t helper);
    static void *thread_main(void *pool);

    const size_t size_ = default_size();
    std::atomic<size_t> limit_{size_};
    const bool crowded_;                             // more threads than processors
    std::atomic<const LoopCosts *> costs_{nullptr};  // null: not read yet
    std::unique_ptr<Seat[]> seats_;
    Place places_[kPlaces];
    // Spinning helpers read this cache line, and then the one with the loops.
    alignas(64) std::atomic<uint32_t> posted_{0};       // counts loops
    alignas(64) std::atomic<Loop *> loops_[kPlaces]{};  // by slot; null: none is offered
    alignas(64) Mutex lock_;                            // guards the start of threads
    std::atomic<size_t> started_{0};  // helpers; they start when first needed and never end
    std::atomic<size_t> arrived_{0};  // numbers the helpers
};

// Starts a detached thread with all signals blocked: signals are for the program's own threads.
// False: failed.
bool start_thread(void *(*main)(void *), void *argument);

}  // namespace infini::cpu
