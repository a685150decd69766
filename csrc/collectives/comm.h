// Communicators behind users' handles, and the operations that wait in streams.
#pragma once

#include <infini/collectives.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime_services.h"

// After that: it takes the streams of the face that is there.
#include "infiniccl.h"

namespace infini::ccl {

// The object behind a user's handle. Operations queued in streams, and graphs, also hold it.
struct Comm : std::enable_shared_from_this<Comm> {
    Comm(const InfiniTarget &target, const InfiniCollectives &table, int ranks, int rank,
         double timeout)
        : target(target), ranks(ranks), rank(rank), timeout(timeout), table_(table) {}
    ~Comm();

    const InfiniCollectives &table() const { return table_; }

    // Called when an operation is enqueued, and when it is done.
    void begin();
    bool begin_in(void *stream);  // only if the one before is in this stream, too
    void end();
    // Runs it on the back end; failures are recorded. False: it must be composed, if it is not
    // already.
    bool run(const InfiniCollective *work, size_t count, bool composed = false);
    void fail(infiniStatus_t status, const std::string &sentence);
    void wait_until_idle();

    // Success, or the error of the first operation that failed.
    infiniStatus_t status(std::string *sentence);

    const InfiniTarget target;
    const int ranks, rank;
    std::atomic<double> timeout;
    InfiniCommunicator *communicator = nullptr;  // the back end's
    std::mutex lock;
    std::condition_variable idle;
    std::atomic<int> pending{0};
    infiniStatus_t failure = INFINI_STATUS_SUCCESS;
    std::string reason;
    std::atomic<bool> told{false};     // a call has returned the failure
    std::atomic<bool> aborted{false};  // by this rank
    void *last_stream =
        nullptr;  // its operations are done in the order of the calls, whatever their streams
    bool used = false;

private:
    const InfiniCollectives &table_;
};

// The collectives of a target's back end; null if it has none.
const InfiniCollectives *collectives_of(const InfiniTarget &target);

using CommPointer = std::shared_ptr<Comm>;

// Live handles. An invalid handle gives null, never a crash.
infinicclComm_t add_handle(CommPointer comm);
CommPointer find_handle(infinicclComm_t handle);
CommPointer take_handle(infinicclComm_t handle);  // and it is no handle any more
std::vector<CommPointer> live_handles();

// One operation with the objects it refers to.
struct Operation {
    CommPointer comm;
    InfiniCollective work{};
    std::vector<size_t> send_counts, recv_counts;
    void *stream = nullptr;

    // The back end's view; valid as long as this object is not moved.
    InfiniCollective view() const {
        InfiniCollective view = work;
        view.send_counts = send_counts.empty() ? nullptr : send_counts.data();
        view.recv_counts = recv_counts.empty() ? nullptr : recv_counts.data();
        view.stream = stream;
        return view;
    }
};

// Is the operation valid? Records an error if not.
infiniStatus_t check(const char *function, const Operation &operation);

// Enqueues operations of any communicators, as one group for each communicator and stream.
infiniStatus_t launch(const char *function, std::vector<Operation> operations);
infiniStatus_t launch_one(const char *function, Operation operation);

// Runs it now, or at the end of this thread's group.
infiniStatus_t enqueue(const char *function, Operation operation);
// The same for calls that block until other ranks make them too: in a group they run concurrently.
infiniStatus_t do_together(const char *function, std::function<infiniStatus_t()> task);
infiniStatus_t failed(const char *function);  // host memory ran out
// Records that a call was refused: its group, if there is one, enqueues nothing.
infiniStatus_t refused(infiniStatus_t status);
infiniStatus_t group_start(const char *function);
infiniStatus_t group_end(const char *function);

}  // namespace infini::ccl
