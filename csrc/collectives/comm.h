// Communicators as clients hold them, and the operations that wait in streams.
#pragma once

#include <infini/collectives.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ordered.h"

// After that: it takes the streams of the face that is there.
#include "infiniccl.h"

namespace infini::ccl {

// What a client's handle refers to. Operations that wait in streams, and graphs, hold it too.
struct Comm : std::enable_shared_from_this<Comm> {
    Comm(const InfiniTarget &target, const InfiniCollectives &table, int ranks, int rank,
         double timeout)
        : target(target), ranks(ranks), rank(rank), timeout(timeout), table_(table) {}
    ~Comm();

    const InfiniCollectives &table() const { return table_; }

    // Operations between being enqueued and being done.
    void begin();
    bool begin_in(void *stream);  // only if the one before is in this stream, too
    void end();
    // On the back end; what fails is kept. False: it has to be composed, if it is not already.
    bool run(const InfiniCollective *work, size_t count, bool composed = false);
    void fail(infiniStatus_t status, const std::string &sentence);
    void wait_until_idle();

    // Success, or how the first operation failed.
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

// The collectives of a target's back end; null: it has none.
const InfiniCollectives *collectives_of(const InfiniTarget &target);

using CommPointer = std::shared_ptr<Comm>;

// Live handles. A handle that is none gives null, never a crash.
infinicclComm_t add_handle(CommPointer comm);
CommPointer find_handle(infinicclComm_t handle);
CommPointer take_handle(infinicclComm_t handle);  // and it is no handle any more
std::vector<CommPointer> live_handles();

// One operation with what it refers to.
struct Operation {
    CommPointer comm;
    InfiniCollective work{};
    std::vector<size_t> send_counts, recv_counts;
    void *stream = nullptr;

    // The back end's view; valid as long as this is not moved.
    InfiniCollective view() const {
        InfiniCollective view = work;
        view.send_counts = send_counts.empty() ? nullptr : send_counts.data();
        view.recv_counts = recv_counts.empty() ? nullptr : recv_counts.data();
        view.stream = stream;
        return view;
    }
};

// Is the operation one that can be done? Records why not.
infiniStatus_t check(const char *function, const Operation &operation);

// Enqueues operations of any communicators, each group of the same communicator and stream as one.
infiniStatus_t launch(const char *function, std::vector<Operation> operations);
infiniStatus_t launch_one(const char *function, Operation operation);

// Now, or at the end of this thread's group.
infiniStatus_t enqueue(const char *function, Operation operation);
// The same for what blocks until other ranks do it too: in a group they are done side by side.
infiniStatus_t do_together(const char *function, std::function<infiniStatus_t()> task);
infiniStatus_t failed(const char *function);  // host memory ran out
// A call that was refused: its group, if there is one, enqueues nothing.
infiniStatus_t refused(infiniStatus_t status);
infiniStatus_t group_start(const char *function);
infiniStatus_t group_end(const char *function);

}  // namespace infini::ccl
