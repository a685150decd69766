// One rank of the vendor's communicator, with its pending work.
//
// Owned by the core's handle, and by the watch as long as something is pending. Calls with the
// vendor's handle do not block (if the library supports that), so a thread that finds a failure can
// take the handle at any time and abort it.
#pragma once

#include <infini/collectives.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "collectives/library.h"
#include "runtime/device_reset.h"

namespace infini::cuda::collectives {

using Clock = std::chrono::steady_clock;

struct World;

// Work in a stream. The time-out starts when it begins to run there, not at the call.
struct Pending {
    void *stream;  // only compared: it may be destroyed
    infinirtEvent_t before, after;
    std::string what;
    Clock::time_point since{};  // 0: not begun
};

// One thread enqueues at a time. A thread that aborts waits for it, unless it hangs.
struct Turn {
    void lock() {
        mutex.lock();
        holder = std::this_thread::get_id();
    }
    void unlock() {
        holder = std::thread::id();
        mutex.unlock();
    }
    std::timed_mutex mutex;
    std::atomic<std::thread::id> holder{};
};

class Communicator : public std::enable_shared_from_this<Communicator> {
public:
    Communicator(int device, int ranks, int rank, double timeout)
        : device(device), ranks(ranks), rank(rank), kept_(device), timeout_(timeout) {}
    ~Communicator();

    // Waits until a call on the vendor's handle has completed.
    infiniStatus_t settle(const char *function, const std::string &late);
    // Success or the failure. Queries the library, and checks pending work.
    infiniStatus_t state(std::string *reason);
    // The same without a query: whether its device was lost.
    infiniStatus_t check_device(std::string *reason);
    // Calls f with the vendor's handle, if it still exists.
    infiniStatus_t with_handle(const std::function<infiniStatus_t(Handle)> &call);
    // Records the first failure, and aborts the vendor's communicator, which ends its work in
    // streams.
    void fail(infiniStatus_t status, const std::string &sentence);
    // Its other ranks in this process fail too.
    void fail_all(infiniStatus_t status, const std::string &sentence);
    void set_timeout(double seconds);

    // Brackets work enqueued in a stream that is not being captured; it waits for earlier
    // operations in other streams.
    infiniStatus_t begin(void *stream, Pending *pending);
    infiniStatus_t end(void *stream, Pending pending);
    bool has_pending();

    // Destroys the vendor's communicator when its work is done. True: finished.
    bool leave(bool wait);

    const int device, ranks, rank;
    Handle handle = nullptr;            // null: destroyed
    bool polls = false;                 // non-blocking
    std::atomic<bool> captured{false};  // graphs may hold it
    std::shared_ptr<World> world;
    Turn turn;

private:
    void mark(infiniStatus_t status, const std::string &sentence);
    // With the lock held. Returns a message if something takes too long.
    std::string look();
    infinirtEvent_t take_event();
    int try_to_end();  // the library's code

    const Kept kept_;  // lost: the vendor's handle and events are not used any more
    std::mutex lock_;
    double timeout_;
    infiniStatus_t failure_ = INFINI_STATUS_SUCCESS;
    std::string reason_;
    std::deque<Pending> pending_;
    std::vector<infinirtEvent_t> spare_;
    std::atomic<bool> finalizing_{false};
    Clock::time_point left_{};  // time of the failure
};

// The ranks of one communicator that are in this process.
struct World {
    std::mutex lock;
    std::vector<std::weak_ptr<Communicator>> ranks;

    static std::shared_ptr<World> of(const UniqueId &id);
    void add(const std::shared_ptr<Communicator> &communicator);
    std::vector<std::shared_ptr<Communicator>> all();
};

// The watch: a thread that checks communicators with something pending, started by the first.
void watch(const std::shared_ptr<Communicator> &communicator);
// The same for one that was closed but is not finished.
void watch_end(const std::shared_ptr<Communicator> &communicator);

// ---- Entries of the table -----------------------------------------------------------------------

int submit(struct InfiniCommunicator *const *communicators, const InfiniCollective *work,
           size_t count);
int share(struct InfiniCommunicator *communicator, const void *mine, void *all, size_t bytes);

}  // namespace infini::cuda::collectives

struct InfiniCommunicator {
    std::shared_ptr<infini::cuda::collectives::Communicator> held;
};
