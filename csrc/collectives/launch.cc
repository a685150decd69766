// How operations get into streams.
#include <map>

#include "comm.h"
#include "compose.h"

namespace infini::ccl {
namespace {

// The operations of one communicator and stream, as one piece of work in it.
struct Batch {
    CommPointer comm;
    std::vector<Operation> operations;
    bool recorded = false;  // in a graph: nobody waits for it

    infiniStatus_t run() const {
        std::vector<InfiniCollective> work;
        for (const Operation &operation : operations) work.push_back(operation.view());
        return infiniStatus_t(comm->table().run(comm->communicator, work.data(), work.size()));
    }
};

// Inside the stream. Recorded ones come here once for each replay.
void run_batch(void *data) {
    const auto &batch = *static_cast<Batch *>(data);
    std::string reason;
    const infiniStatus_t status = batch.run();
    if (status != INFINI_STATUS_SUCCESS) {
        batch.comm->status(&reason);
        batch.comm->fail(status, reason);
    }
    if (!batch.recorded) batch.comm->end();
}

void drop_batch(void *data) { delete static_cast<Batch *>(data); }

// A communicator does its operations in the order of the calls. Where they go to several streams, these
// wait for each other; a stream that is gone is waited for here.
void order(const char *function, Comm &comm, void *stream) {
    void *before = nullptr;
    {
        std::lock_guard guard(comm.lock);
        if (!comm.used || comm.last_stream == stream) return;
        before = comm.last_stream;
    }
    if (infiniOrderStreams(function, &comm.target, before, stream) != INFINI_STATUS_SUCCESS)
        comm.wait_until_idle();
}

void remember(Comm &comm, void *stream) {
    std::lock_guard guard(comm.lock);
    comm.used = true;
    comm.last_stream = stream;
}

// For back ends whose collectives are run on a thread of the stream.
infiniStatus_t launch_runs(const char *function, std::vector<Operation> operations) {
    std::map<std::pair<Comm *, void *>, std::unique_ptr<Batch>> batches;
    std::vector<std::pair<Comm *, void *>> in_order;
    for (Operation &operation : operations) {
        const std::pair<Comm *, void *> key{operation.comm.get(), operation.stream};
        std::unique_ptr<Batch> &batch = batches[key];
        if (!batch) {
            batch = std::make_unique<Batch>();
            batch->comm = operation.comm;
            in_order.push_back(key);
        }
        batch->operations.push_back(std::move(operation));
    }
    for (const auto &key : in_order) {
        Batch *batch = batches[key].release();
        const CommPointer held = batch->comm;  // the batch may be gone before the call returns
        order(function, *held, key.second);
        int recorded = 0;
        held->begin();
        const infiniStatus_t status = infiniLaunchHost(function, &held->target, key.second,
                                                       run_batch, drop_batch, batch, &recorded);
        if (recorded) batch->recorded = true;
        if (recorded || status != INFINI_STATUS_SUCCESS) held->end();
        if (status != INFINI_STATUS_SUCCESS) return status;
        remember(*held, key.second);
    }
    return INFINI_STATUS_SUCCESS;
}

// For vendors' libraries, which take streams: the whole group in one call.
infiniStatus_t launch_submits(const char *function, const std::vector<Operation> &operations) {
    std::vector<InfiniCommunicator *> communicators;
    std::vector<InfiniCollective> work;
    for (const Operation &operation : operations) {
        order(function, *operation.comm, operation.stream);
        remember(*operation.comm, operation.stream);
        for (const InfiniCollective &part : compose(*operation.comm, operation)) {
            communicators.push_back(operation.comm->communicator);
            work.push_back(part);
        }
    }
    const int status =
        operations[0].comm->table().submit(communicators.data(), work.data(), work.size());
    if (status == INFINI_STATUS_SUCCESS) return INFINI_STATUS_SUCCESS;
    return infiniRecordFailure(function, infiniStatus_t(status), nullptr);
}

}  // namespace

infiniStatus_t launch(const char *function, std::vector<Operation> operations) {
    for (const Operation &operation : operations) {
        std::string reason;
        if (infiniStatus_t status = operation.comm->status(&reason))
            return infiniRecordFailure(
                function, status,
                ("an earlier operation of the communicator failed: " + reason).c_str());
    }
    // Communicators of different kinds of device have nothing to wait for in each other.
    std::map<const InfiniCollectives *, std::vector<Operation>> by_table;
    for (Operation &operation : operations)
        by_table[&operation.comm->table()].push_back(std::move(operation));
    for (auto &[table, part] : by_table) {
        const infiniStatus_t status =
            table->run ? launch_runs(function, std::move(part)) : launch_submits(function, part);
        if (status != INFINI_STATUS_SUCCESS) return status;
    }
    return INFINI_STATUS_SUCCESS;
}

}  // namespace infini::ccl
