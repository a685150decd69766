// The functions that make, describe and end communicators. Those that move data are generated.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "comm.h"
#include "environment.h"
#include "failures.h"
#include "infini/ext.h"

namespace infini::ccl {

infiniStatus_t missing(const char *function, const char *argument) {
    return refused(infiniRecordFailure(
        function, INFINI_STATUS_NULL_POINTER,
        (std::string(argument) + " is null: expected a valid pointer").c_str()));
}

infiniStatus_t failed(const char *function) {
    return refused(
        infiniRecordFailure(function, INFINI_STATUS_INTERNAL_ERROR, "host memory ran out"));
}

namespace {

infiniStatus_t refuse(const char *function, infiniStatus_t status, const std::string &sentence) {
    return refused(infiniRecordFailure(function, status, sentence.c_str()));
}

infiniStatus_t no_comm(const char *function) {
    return refuse(function, INFINI_STATUS_BAD_PARAM,
                  "comm is no live communicator: expected one from infinicclCommInitRank or "
                  "infinicclCommInitAll that was not destroyed");
}

// INFINI_CCL_TIMEOUT, in seconds; 0: no limit.
double default_timeout() { return read_setting({"INFINI_CCL_TIMEOUT", 0, INFINITY, false}, 300); }

infiniStatus_t find_table(const char *function, const InfiniTarget &target,
                          const InfiniCollectives **table) {
    *table = collectives_of(target);
    if (*table) return INFINI_STATUS_SUCCESS;
    return refuse(function, INFINI_STATUS_NOT_IMPLEMENTED,
                  std::string(target.kind) + " devices have no collectives in this installation");
}

infiniStatus_t finish(const char *function, int status) {
    if (status == INFINI_STATUS_SUCCESS) return INFINI_STATUS_SUCCESS;
    return infiniRecordFailure(function, infiniStatus_t(status), nullptr);
}

// Gathers bytes from all ranks to all ranks. Blocks.
infiniStatus_t share(const char *function, Comm &comm, const void *mine, void *all, size_t bytes) {
    if (comm.table().share)
        return finish(function, comm.table().share(comm.communicator, mine, all, bytes));
    InfiniCollective work{};
    work.kind = INFINI_ALL_GATHER;
    work.dtype = INFINI_DTYPE_BYTE;
    work.root = -1;
    work.send = mine;
    work.recv = all;
    work.count = bytes;
    return finish(function, comm.table().run(comm.communicator, &work, 1));
}

struct Choice {
    int color, key;
    infinicclUniqueId_t id;
};

// The ranks of a color, ordered by key. The first of them creates the id.
infiniStatus_t split(const char *function, Comm &comm, int color, int key,
                     infinicclComm_t *result) {
    Choice mine{color, key, {}};
    if (color >= 0)
        if (infiniStatus_t status =
                finish(function,
                       comm.table().make_id(reinterpret_cast<unsigned char *>(mine.id.internal))))
            return status;
    std::vector<Choice> all(size_t(comm.ranks));
    comm.wait_until_idle();
    if (infiniStatus_t status = share(function, comm, &mine, all.data(), sizeof mine))
        return status;
    *result = nullptr;
    if (color < 0) return INFINI_STATUS_SUCCESS;
    std::vector<int> members;
    for (int i = 0; i < comm.ranks; ++i)
        if (all[size_t(i)].color == color) members.push_back(i);
    std::stable_sort(members.begin(), members.end(),
                     [&](int a, int b) { return all[size_t(a)].key < all[size_t(b)].key; });
    const int rank = int(std::find(members.begin(), members.end(), comm.rank) - members.begin());
    auto made =
        std::make_shared<Comm>(comm.target, comm.table(), int(members.size()), rank, comm.timeout);
    const auto *id = reinterpret_cast<const unsigned char *>(all[size_t(members[0])].id.internal);
    const int status = comm.table().join(comm.target.index, made->ranks, rank, id, made->timeout,
                                         &made->communicator);
    if (status == INFINI_STATUS_SUCCESS) *result = add_handle(std::move(made));
    return finish(function, status);
}

}  // namespace

// ---- The functions ------------------------------------------------------------------------------

infiniStatus_t CommInitAll(const char *function, infiniDevice_t device_type, infinicclComm_t *comms,
                           int ndevice, const int *device_ids) {
    if (!comms) return missing(function, "comms");
    if (ndevice < 1)
        return refuse(function, INFINI_STATUS_BAD_PARAM,
                      "ndevice is " + std::to_string(ndevice) + ": expected at least 1");
    const InfiniCollectives *table = nullptr;
    std::vector<std::shared_ptr<Comm>> made;
    std::vector<int> devices;
    for (int i = 0; i < ndevice; ++i) {
        devices.push_back(device_ids ? device_ids[i] : i);
        InfiniTarget target;
        if (infiniStatus_t status = infiniTargetOf(function, device_type, devices.back(), &target))
            return status;
        if (infiniStatus_t status = find_table(function, target, &table)) return status;
        made.push_back(std::make_shared<Comm>(target, *table, ndevice, i, default_timeout()));
    }
    std::vector<InfiniCommunicator *> communicators(made.size(), nullptr);
    if (infiniStatus_t status = finish(
            function,
            table->join_all(ndevice, devices.data(), made[0]->timeout, communicators.data())))
        return status;
    for (size_t i = 0; i < made.size(); ++i) {
        made[i]->communicator = communicators[i];
        comms[i] = add_handle(std::move(made[i]));
    }
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t GetUniqueId(const char *function, infinicclUniqueId_t *unique_id) {
    InfiniTarget target;
    if (!unique_id) return missing(function, "unique_id");
    if (infiniStatus_t status = infiniTargetOfThread(function, &target)) return status;
    const InfiniCollectives *table = nullptr;
    if (infiniStatus_t status = find_table(function, target, &table)) return status;
    return finish(function, table->make_id(reinterpret_cast<unsigned char *>(unique_id->internal)));
}

infiniStatus_t CommInitRank(const char *function, infinicclComm_t *comm, int nranks,
                            infinicclUniqueId_t comm_id, int rank) {
    InfiniTarget target;
    if (!comm) return missing(function, "comm");
    if (nranks < 1 || rank < 0 || rank >= nranks)
        return refuse(function, INFINI_STATUS_BAD_PARAM,
                      "rank " + std::to_string(rank) + " of " + std::to_string(nranks) +
                          ": expected at least one rank, and a rank below their number");
    if (infiniStatus_t status = infiniTargetOfThread(function, &target)) return status;
    const InfiniCollectives *table = nullptr;
    if (infiniStatus_t status = find_table(function, target, &table)) return status;
    return do_together(function, [=, timeout = default_timeout()] {
        auto made = std::make_shared<Comm>(target, *table, nranks, rank, timeout);
        const int status = table->join(target.index, nranks, rank,
                                       reinterpret_cast<const unsigned char *>(comm_id.internal),
                                       made->timeout, &made->communicator);
        if (status == INFINI_STATUS_SUCCESS) *comm = add_handle(std::move(made));
        return finish(function, status);
    });
}

infiniStatus_t CommDestroy(const char *function, infinicclComm_t comm) {
    CommPointer found = find_handle(comm);
    if (!found) return no_comm(function);
    found->wait_until_idle();  // the handle stays valid until CommAbort
    take_handle(comm);
    forget_failure(found);  // a failure that was not reported yet is returned here
    std::lock_guard guard(found->lock);
    if (found->failure == INFINI_STATUS_SUCCESS || found->told) return INFINI_STATUS_SUCCESS;
    return refuse(function, found->failure, found->reason);
}

infiniStatus_t CommAbort(const char *function, infinicclComm_t comm) {
    CommPointer taken = take_handle(comm);
    if (!taken) return no_comm(function);
    const std::string reason = "rank " + std::to_string(taken->rank) + " aborted the communicator";
    taken->aborted = true;
    taken->fail(INFINI_STATUS_INTERNAL_ERROR, reason);
    if (taken->table().abort) taken->table().abort(taken->communicator, reason.c_str());
    taken->wait_until_idle();
    if (taken->told) forget_failure(taken);
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t CommSplit(const char *function, infinicclComm_t comm, int color, int key,
                         infinicclComm_t *newcomm) {
    CommPointer found = find_handle(comm);
    if (!found) return no_comm(function);
    if (!newcomm) return missing(function, "newcomm");
    if (!found->table().run && !found->table().share)
        return refuse(function, INFINI_STATUS_NOT_IMPLEMENTED,
                      std::string(found->target.kind) + " communicators cannot be split");
    return do_together(function, [=] { return split(function, *found, color, key, newcomm); });
}

infiniStatus_t CommCount(const char *function, infinicclComm_t comm, int *count) {
    CommPointer found = find_handle(comm);
    if (!found) return no_comm(function);
    if (!count) return missing(function, "count");
    *count = found->ranks;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t CommRank(const char *function, infinicclComm_t comm, int *rank) {
    CommPointer found = find_handle(comm);
    if (!found) return no_comm(function);
    if (!rank) return missing(function, "rank");
    *rank = found->rank;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t CommSetTimeout(const char *function, infinicclComm_t comm, double seconds) {
    CommPointer found = find_handle(comm);
    if (!found) return no_comm(function);
    if (!(seconds >= 0) || std::isinf(seconds))
        return refuse(function, INFINI_STATUS_BAD_PARAM,
                      "seconds is " + std::to_string(seconds) + ": expected 0 (for ever) or more");
    found->timeout = seconds;
    if (!found->table().set_timeout) return INFINI_STATUS_SUCCESS;
    return finish(function, found->table().set_timeout(found->communicator, seconds));
}

infiniStatus_t CommGetAsyncError(const char *function, infinicclComm_t comm,
                                 infiniStatus_t *status) {
    CommPointer found = find_handle(comm);
    if (!found) return no_comm(function);
    if (!status) return missing(function, "status");
    std::string reason;
    *status = found->status(&reason);
    if (*status == INFINI_STATUS_SUCCESS) return INFINI_STATUS_SUCCESS;
    found->told = true;
    infiniRecordFailure(function, *status, reason.c_str());
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t Describe(const char *function, infiniDevice_t device_type, char *text,
                        size_t bytes) {
    if (!text) return missing(function, "text");
    if (bytes == 0)
        return refuse(function, INFINI_STATUS_BAD_PARAM, "bytes is 0: expected room for words");
    *text = 0;
    InfiniTarget target;
    if (infiniStatus_t status = infiniTargetOf(function, device_type, 0, &target)) return status;
    const InfiniCollectives *table = nullptr;
    if (infiniStatus_t status = find_table(function, target, &table)) return status;
    if (!table->about) return INFINI_STATUS_SUCCESS;
    const int status = table->about(text, bytes);
    if (status == INFINI_STATUS_SUCCESS) return INFINI_STATUS_SUCCESS;
    const std::string reason = text;
    *text = 0;
    return refuse(function, infiniStatus_t(status), reason);
}

infiniStatus_t GroupStart(const char *function, infinicclComm_t) { return group_start(function); }
infiniStatus_t GroupEnd(const char *function, infinicclComm_t) { return group_end(function); }

// Called by the generated entry points.
infiniStatus_t collective(const char *function, const InfiniCollective &work, infinicclComm_t comm,
                          void *stream, const int *nranks) {
    Operation operation;
    operation.comm = find_handle(comm);
    if (!operation.comm) return no_comm(function);
    if (nranks && *nranks != operation.comm->ranks)
        return refuse(function, INFINI_STATUS_BAD_PARAM,
                      "nranks is " + std::to_string(*nranks) + ": expected " +
                          std::to_string(operation.comm->ranks) + ", the ranks of comm");
    operation.work = work;
    operation.stream = stream;
    const auto keep = [&](const char *name, std::vector<size_t> &kept, const size_t *counts) {
        if (!counts) return INFINI_STATUS_SUCCESS;
        const size_t ranks = size_t(operation.comm->ranks);
        if (!infiniIsHostMemory(counts, ranks * sizeof *counts, false))
            return refuse(function, INFINI_STATUS_BAD_PARAM,
                          std::string(name) + " is no memory of the host: expected " +
                              std::to_string(ranks) + " numbers");
        kept.assign(counts, counts + ranks);
        return INFINI_STATUS_SUCCESS;
    };
    if (infiniStatus_t status = keep("send_counts", operation.send_counts, work.send_counts))
        return status;
    if (infiniStatus_t status = keep("recv_counts", operation.recv_counts, work.recv_counts))
        return status;
    return enqueue(function, std::move(operation));
}

}  // namespace infini::ccl
