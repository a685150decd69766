// Streams and events of the core, and the single path by which work enters a stream.
#pragma once

#include <atomic>
#include <utility>
#include <vector>

#include "call.h"
#include "handles.h"

namespace infini::rt {

struct Capture;
struct Node;

// The positions of other streams that are known to precede a point: a vector clock over stream
// numbers. Streams that never waited for another have an empty one, so the common case costs
// nothing.
class Clock {
public:
    uint64_t at(uint64_t stream) const;
    void advance(uint64_t stream, uint64_t position);
    void merge(const Clock &other);
    bool empty() const { return entries_.empty(); }

private:
    std::vector<std::pair<uint64_t, uint64_t>> entries_;
};

struct Stream {
    Stream(Device &device, void *driver, unsigned flags, int priority, bool legacy = false);

    bool per_thread = false;  // a thread's default stream, destroyed with the thread

    Device &device;
    void *const driver;  // the back end's handle; null for the legacy stream
    const unsigned flags;
    const int priority;
    const bool legacy;
    const uint64_t number;  // unique in the process: StreamGetId

    std::atomic<uint64_t> position{0};   // how much work was submitted so far
    Clock clock;                         // guarded by clock_mutex()
    std::atomic<bool> has_clock{false};  // ever waited for another stream
    ForkSafeMutex &clock_mutex() const { return StripedMutex<LockRank::Clock>::of(number); }

    // Capture state, guarded by graph_mutex() except for the fast check of `capture`.
    std::atomic<Capture *> capture{nullptr};
    std::vector<Node *> tail;  // nodes that the next captured one depends on

    bool blocking() const { return !(flags & infinirtStreamNonBlocking); }
    std::atomic<int> synchronization_policy{infinirtSyncPolicyAuto};
};

struct Event {
    Event(Device &device, void *driver, unsigned flags)
        : device(device), driver(driver), flags(flags) {}

    Device &device;
    void *const driver;
    const unsigned flags;
    bool imported = false;  // from another process

    std::atomic<bool> recorded{false};  // ever, or in another process

    // The position of the last record.
    std::atomic<uint64_t> recorded_stream{0}, recorded_position{0};
    Clock clock;  // of that stream then; guarded by clock_mutex()
    ForkSafeMutex &clock_mutex() const {
        return StripedMutex<LockRank::Clock>::of(reinterpret_cast<uintptr_t>(this) / sizeof(Event));
    }
    std::atomic<bool> has_clock{false};

    // If the last record was captured: its capture (null once that ended) and its id. Guarded by
    // graph_mutex().
    std::atomic<Capture *> capture{nullptr};
    std::atomic<uint64_t> capture_id{0};
    std::vector<Node *> tail;
};

using StreamTable = HandleTable<Stream>;
using EventTable = HandleTable<Event>;

inline infinirtStream_t handle_of(Stream *stream) {
    return reinterpret_cast<infinirtStream_t>(stream);
}
inline infinirtEvent_t handle_of(Event *event) { return reinterpret_cast<infinirtEvent_t>(event); }

// The calling thread's infinirtStreamPerThread stream of a device. Null with the error recorded on
// failure.
Stream *thread_stream(Call &call, Device &device);

// Runs `work` in `stream`, or records it as a node if the stream is being captured. Only COPY, FILL
// and HOST; HOST carries the user's own function and data, which submit wraps. Checks the legacy
// stream's rules for captures in progress.
Error submit(Call &call, Stream &stream, const InfiniWork &work);
// As submit, for work that has been checked and is not captured.
Error submit_now(Call &call, Stream &stream, const InfiniWork *work, size_t count);

// Is the work of stream `number` up to `position` known to precede work submitted to `stream` from
// now on?
bool ordered_after(Stream &stream, uint64_t number, uint64_t position);

// Wraps a user's host function so that API calls inside it are refused: pass run and the HostCall's
// address as INFINI_WORK_HOST. run_once frees it after its only call; run leaves it to its owner
// (graph nodes).
struct HostCall {
    infinirtHostFn_t function;
    void *data;
    static void run(void *self);
    static void run_once(void *self);
};

// Waits, then lets the device's pools release what exceeds their release thresholds (CUDA's rule).
Error synchronize(Call &call, Stream &stream);
Error synchronize(Call &call, Device &device);

}  // namespace infini::rt
