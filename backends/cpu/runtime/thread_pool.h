// The one pool of threads for loops over data, shared by all streams and devices of the process.
//
// The caller always takes part, so a loop ends even when every other thread is busy, and loops may
// be nested. Several callers at once share the helpers: each helper takes pieces of whatever loop
// has some left.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sync.h"

namespace infini::cpu {

class ThreadPool {
public:
    // INFINI_NUM_THREADS, else the number of processors that this process may use.
    static size_t default_size();

    size_t size() const { return size_; }  // threads that can work on a loop, the caller included

    // Calls body(begin, end) for ranges that together cover [0, count), none smaller than `grain`
    // but the last, in no particular order and on several threads. Returns when all are done.
    // `body` must not throw. Loops of one shape give the same ranges to the same threads as far as
    // these come in time, so what a thread finds in its cache is what it left there.
    template <class Body>
    void parallel_for(size_t count, size_t grain, const Body &body) {
        if (size_ == 1 || count <= grain) {
            if (count) body(size_t(0), count);
            return;
        }
        Loop loop;
        loop.call = [](const void *self, size_t begin, size_t end) {
            (*static_cast<const Body *>(self))(begin, end);
        };
        loop.body = &body;
        loop.count = count;
        run(loop, grain);
    }

private:
    static constexpr size_t kMostPieces = 256;

    struct Loop {
        void (*call)(const void *body, size_t begin, size_t end);
        const void *body;
        size_t count, piece, pieces;
        size_t own;                   // pieces that each thread begins with
        std::atomic<size_t> left{0};  // pieces that nobody has taken
        std::atomic<bool> taken[kMostPieces];

        void work(size_t thread);
    };

    // A place where a loop is offered. Helpers go inside before they read the loop, and its
    // caller takes the loop away and waits until nobody is inside: no lock is needed.
    struct alignas(64) Place {
        std::atomic<bool> used{false};
        std::atomic<Loop *> loop{nullptr};
        std::atomic<uint32_t> inside{0};  // a futex for a caller that is `waiting`
        std::atomic<bool> waiting{false};
    };
    static constexpr size_t kPlaces = 8;  // loops at a time; more have their caller alone

    void run(Loop &loop, size_t grain);
    Place *offer(Loop &loop);
    void take_back(Place &place);
    bool help_once(size_t thread);
    void help(size_t thread);
    static void *thread_main(void *pool);

    const size_t size_ = default_size();
    Place places_[kPlaces];
    Mutex lock_;                       // guards the start of threads
    std::atomic<size_t> started_{0};   // helpers; they start when first needed and never end
    std::atomic<uint32_t> posted_{0};  // counts loops; idle helpers sleep on it
    std::atomic<uint32_t> sleepers_{0};
    std::atomic<size_t> arrived_{0};  // numbers the helpers
};

// Starts a detached thread that takes no signals: those are for the program's own threads. False:
// none to be had.
bool start_thread(void *(*main)(void *), void *argument);

}  // namespace infini::cpu
