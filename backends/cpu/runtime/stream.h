// Streams: queues of work that run in order, and the rules of the legacy default stream.
//
// A stream is idle (nothing pending), or exactly one party holds its *run*: the right to take items
// from its queue. The run goes from the thread that makes the stream busy to a worker, from there
// to a ticket on which the stream is parked and back to a worker, until nothing is pending. No
// thread waits for a stream meanwhile.
//
// Ownership: the client's handle is one reference, having pending work is another. The thread that
// drops the last reference removes the stream from its device's list and deletes it, so a stream
// can be destroyed while it is busy.
#pragma once

#include <atomic>
#include <cstdint>

#include "error.h"
#include "fork.h"
#include "queue.h"
#include "sync.h"
#include "ticket.h"

namespace infini::cpu {

struct Device;

// Priorities as in CUDA: the smaller the number, the more urgent. `rank` counts from the most
// urgent, 0.
constexpr int kGreatestPriority = -5, kLeastPriority = 0;
constexpr int kRanks = kLeastPriority - kGreatestPriority + 1;

enum class StreamType { Legacy, Blocking, NonBlocking };

struct Stream {
    Stream(Device &device, StreamType type, int priority);
    static Error create(Device &device, unsigned flags, int priority, Stream **stream);
    void destroy() { drop(); }

    // Success, or the error that a stream from before a fork() gives.
    Error usable() const {
        return generation == fork_generation ? infinirtSuccess : made_before_fork("stream");
    }
    Error submit(const InfiniWork *work, size_t count);
    bool complete() const;
    Error synchronize();

    // Appends an arrival of `ticket` after everything pending; does nothing if the stream is idle.
    Error mark(Ticket &ticket);

    // For the holder of the run: item `front` is done. True: it was the last, and the run has
    // ended. The stream may be deleted then.
    bool retire();

    // The number of items published and not retired. The holder of the run has at least one.
    // While kHold is added, a submission to the legacy stream is under way.
    static constexpr uint64_t kHold = uint64_t(1) << 32;
    std::atomic<uint64_t> pending{0};

    Device &device;
    const StreamType type;
    const int rank;
    const unsigned generation = fork_generation;
    std::atomic<uint32_t> references{1};
    Mutex lock;  // producers
    Queue queue;
    Stream *next = nullptr;  // in the list where the run waits: of a ticket or of Workers

    Stream *previous_in_device = nullptr, *next_in_device = nullptr;  // guarded by Device::order

private:
    friend struct Device;
    bool start_inline(const InfiniWork &work);
    bool perform_inline(const InfiniWork &work);
    bool settled() const;
    void drop();
    Error submit_legacy(const InfiniWork *work, size_t count);
    Error submit_blocking(const InfiniWork *work, size_t count);
    Error append(const InfiniWork *work, size_t count, Ticket *behind, bool *awakened);
};

}  // namespace infini::cpu
