// One rank of the vendor's communicator, with what it has enqueued and not yet done.
//
// Who holds it: the core's handle, and the watch as long as it has something to look after. Calls
// with the vendor's handle do not block (where the library can do without), so whoever finds a
// fault can take the handle away at any time and abort it.
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

// Something in a stream. Time runs from when it begins there, not from the call.
struct Pending {
    void *stream;  // only compared: it may be gone
    infinirtEvent_t before, after;
    std::string what;
    Clock::time_point since{};  // 0: it has not begun
};

// One thread enqueues at a time. Whoever aborts lets it come to its end, if it does not hang.
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

    // Waits until a call that was begun on the vendor's handle is over.
    infiniStatus_t settle(const char *function, const std::string &late);
    // Success, or how it failed. Asks the library, and checks what is pending.
    infiniStatus_t state(std::string *reason);
    // The same without asking: whether it went with its device.
    infiniStatus_t check_device(std::string *reason);
    // Calls with the vendor's handle, if it is still there.
    infiniStatus_t with_handle(const std::function<infiniStatus_t(Handle)> &call);
    // The first failure counts. The vendor's communicator is aborted: what it has in streams ends.
    void fail(infiniStatus_t status, const std::string &sentence);
    // Its ranks in this process fail, too.
    void fail_all(infiniStatus_t status, const std::string &sentence);
    void set_timeout(double seconds);

    // Around what is enqueued in a stream that is not being captured; it waits for earlier
    // operations in other streams.
    infiniStatus_t begin(void *stream, Pending *pending);
    infiniStatus_t end(void *stream, Pending pending);
    bool has_pending();

    // Gives the vendor's communicator back when its work is done. True: that is over.
    bool leave(bool wait);

    const int device, ranks, rank;
    Handle handle = nullptr;            // null: not there any more
    bool polls = false;                 // the library does not block on it
    std::atomic<bool> captured{false};  // graphs may hold it
    std::shared_ptr<World> world;
    Turn turn;

private:
    void mark(infiniStatus_t status, const std::string &sentence);
    // With the lock held. Gives a sentence when something takes too long.
    std::string look();
    infinirtEvent_t take_event();
    int try_to_end();  // the library's code

    const Kept kept_;  // lost: the vendor's handle and events are left alone
    std::mutex lock_;
    double timeout_;
    infiniStatus_t failure_ = INFINI_STATUS_SUCCESS;
    std::string reason_;
    std::deque<Pending> pending_;
    std::vector<infinirtEvent_t> spare_;
    std::atomic<bool> finalizing_{false};
    Clock::time_point left_{};  // when it was
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
// The same for one that was left and is not finished.
void watch_end(const std::shared_ptr<Communicator> &communicator);

// ---- Entries of the table -----------------------------------------------------------------------

int submit(struct InfiniCommunicator *const *communicators, const InfiniCollective *work,
           size_t count);
int share(struct InfiniCommunicator *communicator, const void *mine, void *all, size_t bytes);

}  // namespace infini::cuda::collectives

struct InfiniCommunicator {
    std::shared_ptr<infini::cuda::collectives::Communicator> held;
};
