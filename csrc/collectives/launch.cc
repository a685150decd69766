// Enqueues operations into streams; those that vendors' libraries lack are composed of others.
#include <algorithm>
#include <map>
#include <system_error>
#include <thread>

#include "comm.h"
#include "failures.h"

namespace infini::ccl {
namespace {

class Composer {
public:
    Composer(const Comm &comm, const Operation &operation)
        : comm_(comm), whole_(operation.view()), size_(infiniSizeOf(infiniDtype_t(whole_.dtype))) {}

    std::vector<InfiniCollective> run() {
        const bool even = !whole_.send_counts && !whole_.recv_counts;
        switch (whole_.kind) {
            case INFINI_ALL_GATHER:
                if (even) break;
                for (int i = 0; i < comm_.ranks; ++i)
                    part(INFINI_BROADCAST, i, i == comm_.rank ? whole_.send : nullptr, received(i),
                         count(whole_.recv_counts, i));
                return parts_;
            case INFINI_REDUCE_SCATTER:
                if (even) break;
                for (int i = 0; i < comm_.ranks; ++i)
                    part(INFINI_REDUCE, i, sent(i), whole_.recv, count(whole_.send_counts, i));
                return parts_;
            case INFINI_GATHER:
                part(INFINI_SEND, whole_.root, whole_.send, nullptr, whole_.count);
                for (int i = 0; comm_.rank == whole_.root && i < comm_.ranks; ++i)
                    part(INFINI_RECEIVE, i, nullptr, received(i), whole_.count);
                return parts_;
            case INFINI_SCATTER:
                for (int i = 0; comm_.rank == whole_.root && i < comm_.ranks; ++i)
                    part(INFINI_SEND, i, sent(i), nullptr, whole_.count);
                part(INFINI_RECEIVE, whole_.root, nullptr, whole_.recv, whole_.count);
                return parts_;
            case INFINI_ALL_TO_ALL:
                for (int i = 0; i < comm_.ranks; ++i) {
                    part(INFINI_SEND, i, sent(i), nullptr, count(whole_.send_counts, i));
                    part(INFINI_RECEIVE, i, nullptr, received(i), count(whole_.recv_counts, i));
                }
                return parts_;
            default:
                break;
        }
        return {whole_};
    }

private:
    size_t count(const size_t *counts, int rank) const {
        return counts ? counts[rank] : whole_.count;
    }
    size_t offset(const size_t *counts, int rank) const {
        size_t sum = 0;
        for (int i = 0; i < rank; ++i) sum += count(counts, i);
        return sum * size_;
    }
    const void *sent(int rank) const {
        return static_cast<const char *>(whole_.send) + offset(whole_.send_counts, rank);
    }
    void *received(int rank) const {
        return static_cast<char *>(whole_.recv) + offset(whole_.recv_counts, rank);
    }
    void part(int kind, int root, const void *send, void *recv, size_t count) {
        if (count == 0) return;
        InfiniCollective made = whole_;
        made.kind = kind;
        made.root = root;
        made.send = send;
        made.recv = recv;
        made.count = count;
        made.send_counts = made.recv_counts = nullptr;
        parts_.push_back(made);
    }

    const Comm &comm_;
    const InfiniCollective whole_;
    const size_t size_;
    std::vector<InfiniCollective> parts_;
};

// The operation itself where the back end has it, else the operations of this rank that make it.
std::vector<InfiniCollective> compose(const Comm &comm, const Operation &operation) {
    return Composer(comm, operation).run();
}

// Collectives that the back end lacks are composed of others.
void run_in_parts(Comm &comm, const Operation *operations, size_t count) {
    std::vector<InfiniCollective> parts;
    for (size_t i = 0; i < count; ++i)
        for (const InfiniCollective &part : compose(comm, operations[i])) parts.push_back(part);
    comm.run(parts.data(), parts.size(), true);
}

// The operations of one communicator and stream.
struct Batch {
    CommPointer comm;
    std::vector<Operation> operations;

    void run() const {
        std::vector<InfiniCollective> work;
        for (const Operation &operation : operations) work.push_back(operation.view());
        if (!comm->run(work.data(), work.size()))
            run_in_parts(*comm, operations.data(), operations.size());
    }
};

// All operations of a group in one stream, submitted as one work item. Ranks that share a stream
// wait for each other, so they run concurrently.
struct Bundle {
    std::vector<Batch> batches;
    bool recorded = false;  // in a graph: not waited for

    void run() const {
        std::vector<std::thread> others;
        for (size_t i = 1; i < batches.size(); ++i) {
            try {
                others.emplace_back([&batch = batches[i]] { batch.run(); });
            } catch (const std::system_error &) {
                give_up(*batches[i].comm);
            }
        }
        batches[0].run();
        for (std::thread &other : others) other.join();
    }

private:
    static void give_up(Comm &comm) {
        const char *reason =
            "the system gives no thread to a rank that shares its stream with others";
        comm.fail(INFINI_STATUS_INTERNAL_ERROR, reason);
        note_failure(comm.shared_from_this());
        if (comm.table().abort) comm.table().abort(comm.communicator, reason);
    }
};

// Runs in the stream; a recorded one runs once for each replay.
void run_bundle(void *data) {
    const auto &bundle = *static_cast<Bundle *>(data);
    bundle.run();
    if (bundle.recorded) return;
    for (const Batch &batch : bundle.batches) batch.comm->end();
}

void drop_bundle(void *data) { delete static_cast<Bundle *>(data); }

// The same for one operation.
struct Single {
    const Operation operation;
    bool recorded = false;

    static void run(void *data) {
        const auto &[operation, recorded] = *static_cast<Single *>(data);
        const InfiniCollective work = operation.view();
        if (!operation.comm->run(&work, 1)) run_in_parts(*operation.comm, &operation, 1);
        if (!recorded) operation.comm->end();
    }
    static void drop(void *data) { delete static_cast<Single *>(data); }
};

// A communicator performs its operations in the order of the calls. If they use several streams,
// these wait for each other; a destroyed stream is waited for here.
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

// By stream, in call order. The null streams of two devices are different streams.
std::vector<std::unique_ptr<Bundle>> sort_by_stream(std::vector<Operation> operations) {
    std::map<std::pair<void *, void *>, Bundle *> by_stream;
    std::vector<std::unique_ptr<Bundle>> bundles;
    for (Operation &operation : operations) {
        Bundle *&bundle = by_stream[{operation.comm->target.device, operation.stream}];
        if (!bundle) bundle = bundles.emplace_back(std::make_unique<Bundle>()).get();
        auto batch = std::find_if(bundle->batches.begin(), bundle->batches.end(),
                                  [&](const Batch &each) { return each.comm == operation.comm; });
        if (batch == bundle->batches.end())
            batch = bundle->batches.insert(batch, Batch{operation.comm, {}});
        batch->operations.push_back(std::move(operation));
    }
    return bundles;
}

// For back ends whose collectives are run on a thread of the stream.
infiniStatus_t launch_runs(const char *function, std::vector<Operation> operations) {
    for (std::unique_ptr<Bundle> &each : sort_by_stream(std::move(operations))) {
        Bundle *bundle = each.release();
        void *stream = bundle->batches[0].operations[0].stream;
        std::vector<CommPointer> held;  // the bundle may be gone before the call returns
        for (const Batch &batch : bundle->batches) held.push_back(batch.comm);
        for (const CommPointer &comm : held) {
            order(function, *comm, stream);
            comm->begin();
        }
        int recorded = 0;
        const infiniStatus_t status = infiniLaunchHost(function, &held[0]->target, stream,
                                                       run_bundle, drop_bundle, bundle, &recorded);
        if (recorded && status == INFINI_STATUS_SUCCESS) bundle->recorded = true;
        for (const CommPointer &comm : held) {
            if (recorded || status != INFINI_STATUS_SUCCESS) comm->end();
            if (!recorded && status == INFINI_STATUS_SUCCESS) remember(*comm, stream);
        }
        if (status != INFINI_STATUS_SUCCESS) return status;
    }
    return INFINI_STATUS_SUCCESS;
}

// For vendors' libraries, which take streams: the whole group in one call. The back end keeps the
// order across streams, because only it knows which of the vendor's streams are being captured.
infiniStatus_t launch_submits(const char *function, const std::vector<Operation> &operations) {
    std::vector<InfiniCommunicator *> communicators;
    std::vector<InfiniCollective> work;
    for (const Operation &operation : operations) {
        void *stream = nullptr;
        if (infiniStatus_t status =
                infiniDriverStream(function, &operation.comm->target, operation.stream, &stream))
            return status;
        for (InfiniCollective part : compose(*operation.comm, operation)) {
            part.stream = stream;
            communicators.push_back(operation.comm->communicator);
            work.push_back(part);
        }
    }
    const int status =
        operations[0].comm->table().submit(communicators.data(), work.data(), work.size());
    if (status == INFINI_STATUS_SUCCESS) return INFINI_STATUS_SUCCESS;
    return infiniRecordFailure(function, infiniStatus_t(status), nullptr);
}

infiniStatus_t check_health(const char *function, Comm &comm) {
    std::string reason;
    const infiniStatus_t status = comm.status(&reason);
    if (status == INFINI_STATUS_SUCCESS) return status;
    comm.told = true;
    return infiniRecordFailure(
        function, status, ("an earlier operation of the communicator failed: " + reason).c_str());
}

}  // namespace

infiniStatus_t launch_one(const char *function, Operation operation) {
    const CommPointer comm = operation.comm;  // the operation may be gone before the call returns
    if (!comm->table().run) {
        std::vector<Operation> one;
        one.push_back(std::move(operation));
        return launch(function, std::move(one));
    }
    if (infiniStatus_t status = check_health(function, *comm)) return status;
    void *stream = operation.stream;
    auto *single = new Single{std::move(operation)};
    const bool goes_on = comm->begin_in(stream);
    if (!goes_on) {
        order(function, *comm, stream);
        comm->begin();
    }
    int recorded = 0;
    const infiniStatus_t status = infiniLaunchHost(function, &comm->target, stream, Single::run,
                                                   Single::drop, single, &recorded);
    if (recorded && status == INFINI_STATUS_SUCCESS) single->recorded = true;
    if (recorded || status != INFINI_STATUS_SUCCESS) comm->end();
    if (!recorded && status == INFINI_STATUS_SUCCESS && !goes_on) remember(*comm, stream);
    return status;
}

infiniStatus_t launch(const char *function, std::vector<Operation> operations) {
    for (const Operation &operation : operations)
        if (infiniStatus_t status = check_health(function, *operation.comm)) return status;
    // Communicators of different device types do not wait for each other.
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
