// The table of collectives for the core.
#include <algorithm>
#include <cstring>

#include "collectives/communicator.h"
#include "guarded_entry.h"

namespace infini::cuda::collectives {
namespace {

using CommunicatorPointer = std::shared_ptr<Communicator>;

infiniStatus_t there() {
    if (is_forked()) return refuse(INFINI_STATUS_DEVICE_NOT_INITIALIZED, how_lost(0));
    std::string why;
    if (functions(&why)) return INFINI_STATUS_SUCCESS;
    return refuse(INFINI_STATUS_NOT_IMPLEMENTED, why);
}

infiniStatus_t failed(int code, const char *function) {
    return refuse(INFINI_STATUS_INTERNAL_ERROR, words(code, function));
}

int make_id(unsigned char *id) {
    if (infiniStatus_t status = there()) return status;
    static_assert(sizeof(UniqueId) == INFINI_COLLECTIVE_ID_BYTES);
    UniqueId made{};
    if (int code = library().GetUniqueId(&made)) return failed(code, "GetUniqueId");
    memcpy(id, made.bytes, sizeof made);
    return INFINI_STATUS_SUCCESS;
}

// Begins to join; settle() ends it, where the library does not block.
int begin_join(Communicator &communicator, const UniqueId &id) {
    OnDevice here(communicator.device);
    communicator.polls = can_poll();
    if (!communicator.polls)
        return library().CommInitRank(&communicator.handle, communicator.ranks, id,
                                      communicator.rank);
    Config config;
    return library().CommInitRankConfig(&communicator.handle, communicator.ranks, id,
                                        communicator.rank, &config);
}

constexpr const char *kJoin = "CommInitRankConfig";

infiniStatus_t end_join(Communicator &communicator, int code) {
    if (code != kSuccess && code != kInProgress) {
        const infiniStatus_t status = failed(code, communicator.polls ? kJoin : "CommInitRank");
        communicator.fail(status, "it did not join");
        return status;
    }
    return communicator.settle(kJoin, "not all of " + std::to_string(communicator.ranks) +
                                          " ranks came to join rank " +
                                          std::to_string(communicator.rank) + " within ");
}

void hand_over(const CommunicatorPointer &made, InfiniCommunicator **communicator) {
    *communicator = new InfiniCommunicator{made};
}

int join(int device, int ranks, int rank, const unsigned char *bytes, double timeout,
         InfiniCommunicator **communicator) {
    if (infiniStatus_t status = there()) return status;
    if (std::all_of(bytes, bytes + sizeof(UniqueId), [](unsigned char byte) { return !byte; }))
        return refuse(INFINI_STATUS_BAD_PARAM,
                      "comm_id is none that was made: expected one from infinicclGetUniqueId");
    UniqueId id;
    memcpy(id.bytes, bytes, sizeof id);
    auto made = std::make_shared<Communicator>(device, ranks, rank, timeout);
    made->world = World::of(id);
    made->world->add(made);
    if (infiniStatus_t status = end_join(*made, begin_join(*made, id))) return status;
    hand_over(made, communicator);
    return INFINI_STATUS_SUCCESS;
}

int join_all_blocking(int ranks, const int *devices, double timeout,
                      InfiniCommunicator **communicators) {
    std::vector<Handle> handles(size_t(ranks), nullptr);
    OnDevice here(devices[0]);
    if (int code = library().CommInitAll(handles.data(), ranks, devices))
        return failed(code, "CommInitAll");
    auto world = std::make_shared<World>();
    for (int i = 0; i < ranks; ++i) {
        auto made = std::make_shared<Communicator>(devices[i], ranks, i, timeout);
        made->handle = handles[size_t(i)];
        made->world = world;
        world->add(made);
        hand_over(made, &communicators[i]);
    }
    return INFINI_STATUS_SUCCESS;
}

int join_all(int ranks, const int *devices, double timeout, InfiniCommunicator **communicators) {
    if (infiniStatus_t status = there()) return status;
    if (!can_poll()) return join_all_blocking(ranks, devices, timeout, communicators);
    UniqueId id{};
    if (int status = make_id(reinterpret_cast<unsigned char *>(id.bytes))) return status;
    auto world = std::make_shared<World>();
    std::vector<CommunicatorPointer> made;
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    if (int code = library().GroupStart()) return failed(code, "GroupStart");
    for (int i = 0; i < ranks && status == INFINI_STATUS_SUCCESS; ++i) {
        made.push_back(std::make_shared<Communicator>(devices[i], ranks, i, timeout));
        made.back()->world = world;
        world->add(made.back());
        const int code = begin_join(*made.back(), id);
        if (code != kSuccess && code != kInProgress) status = failed(code, kJoin);
    }
    const int code = library().GroupEnd();
    if (status == INFINI_STATUS_SUCCESS && code != kSuccess && code != kInProgress)
        status = failed(code, "GroupEnd");
    for (const CommunicatorPointer &each : made)
        if (status == INFINI_STATUS_SUCCESS) status = end_join(*each, code);
    if (status != INFINI_STATUS_SUCCESS) {
        for (const CommunicatorPointer &each : made) each->fail(status, "not all ranks joined");
        return status;
    }
    for (size_t i = 0; i < made.size(); ++i) hand_over(made[i], &communicators[i]);
    return INFINI_STATUS_SUCCESS;
}

int leave(InfiniCommunicator *communicator) {
    const CommunicatorPointer held = std::move(communicator->held);
    delete communicator;
    if (!held->leave(true)) watch_end(held);
    return INFINI_STATUS_SUCCESS;
}

int abort(InfiniCommunicator *communicator, const char *reason) {
    communicator->held->fail_all(INFINI_STATUS_INTERNAL_ERROR, reason);
    return INFINI_STATUS_SUCCESS;
}

int set_timeout(InfiniCommunicator *communicator, double seconds) {
    communicator->held->set_timeout(seconds);
    return INFINI_STATUS_SUCCESS;
}

int state(InfiniCommunicator *communicator, char *reason, size_t reason_bytes) {
    std::string said;
    const infiniStatus_t status = communicator->held->state(&said);
    snprintf(reason, reason_bytes, "%s", said.c_str());
    return status;
}

int about(char *text, size_t text_bytes) {
    std::string why;
    const bool can = functions(&why) != nullptr;
    snprintf(text, text_bytes, "%s", can ? name().c_str() : why.c_str());
    return can ? INFINI_STATUS_SUCCESS : INFINI_STATUS_NOT_IMPLEMENTED;
}

int out_of_memory() { return refuse(INFINI_STATUS_INTERNAL_ERROR, "host memory ran out"); }

#define INFINI_ENTRY(function) guarded_entry<&function, &out_of_memory>(&function)

const InfiniCollectives table = {
    sizeof(InfiniCollectives),  // size
    INFINI_ENTRY(make_id),      // make_id
    INFINI_ENTRY(join),         // join
    INFINI_ENTRY(join_all),     // join_all
    INFINI_ENTRY(leave),        // leave
    INFINI_ENTRY(abort),        // abort
    INFINI_ENTRY(set_timeout),  // set_timeout
    INFINI_ENTRY(state),        // state
    nullptr,                    // run
    INFINI_ENTRY(submit),       // submit
    INFINI_ENTRY(share),        // share
    INFINI_ENTRY(about),        // about
};

}  // namespace
}  // namespace infini::cuda::collectives

extern "C" __attribute__((visibility("default"))) const InfiniCollectives *
infini_backend_collectives() {
    return &infini::cuda::collectives::table;
}
