// The table of collectives for the core.
#include <cstdio>
#include <cstring>
#include <thread>

#include "communicator.h"
#include "guarded_entry.h"
#include "hand_over.h"

namespace infini::vendor_runtime::collectives {
namespace {

infiniStatus_t there() {
    if (refusal().empty()) return INFINI_STATUS_SUCCESS;
    return refuse(INFINI_STATUS_NOT_IMPLEMENTED, refusal());
}

int make_id(unsigned char *id) {
    if (auto status = there()) return status;
    Id made;
    std::string problem;
    if (!make(&made, &problem)) return refuse(INFINI_STATUS_INTERNAL_ERROR, problem);
    memset(id, 0, INFINI_COLLECTIVE_ID_BYTES);
    memcpy(id, &made, sizeof made);
    return INFINI_STATUS_SUCCESS;
}

CommunicatorPointer add(int device, int ranks, int rank, double timeout,
                        const std::shared_ptr<World> &world) {
    auto made = std::make_shared<Communicator>(device, ranks, rank, timeout, world);
    std::lock_guard guard(world->lock);
    world->ranks.push_back(made);
    return made;
}

int join(int device, int ranks, int rank, const unsigned char *bytes, double timeout,
         InfiniCommunicator **communicator) {
    if (auto status = there()) return status;
    Id id;
    memcpy(&id, bytes, sizeof id);
    if (!is_made(id))
        return refuse(INFINI_STATUS_BAD_PARAM,
                      "comm_id is none that was made: expected one from infinicclGetUniqueId");
    OnDevice here(device);
    Gift gift;
    std::string problem;
    Values values;
    if (rank == 0) {
        gift.bytes.resize(id_bytes());
        values.id = gift.bytes.data();
        if (int code = call(Word::kGetUniqueId, values))
            gift.refusal = "rank 0: " + words(code, Word::kGetUniqueId);
        if (!give(id, ranks, gift, timeout, &problem))
            return refuse(INFINI_STATUS_INTERNAL_ERROR, problem);
    } else if (!take(id, ranks, rank, timeout, &gift, &problem)) {
        return refuse(INFINI_STATUS_INTERNAL_ERROR, problem);
    }
    auto made = add(device, ranks, rank, timeout, World::of(id.nonce));
    values.id = gift.bytes.data();
    values.out = &made->handle;
    values.rank = rank;
    values.ranks = ranks;
    values.devices = &device;
    values.rank_list = &rank;
    if (int code = call(Word::kCommInitRank, values))
        return refuse(INFINI_STATUS_INTERNAL_ERROR, words(code, Word::kCommInitRank));
    if (auto status = made->settle()) return status;
    *communicator = new InfiniCommunicator{made};
    return INFINI_STATUS_SUCCESS;
}

int join_all(int ranks, const int *devices, double timeout, InfiniCommunicator **communicators) {
    if (auto status = there()) return status;
    for (int i = 0; i < ranks; ++i)
        for (int j = 0; j < i; ++j)
            if (devices[i] == devices[j])
                return refuse(INFINI_STATUS_BAD_PARAM,
                              std::string("device_ids has device ") + std::to_string(devices[i]) +
                                  " twice: " + vendor.name + " has one rank for each device");
    // Libraries require every device to be selected before.
    for (int i = ranks - 1; i >= 0; --i) OnDevice once(devices[i]);
    OnDevice here(devices[0]);
    std::vector<void *> handles(size_t(ranks), nullptr);
    std::vector<int> numbers;
    for (int i = 0; i < ranks; ++i) numbers.push_back(i);
    Values values;
    values.out = handles.data();
    values.ranks = ranks;
    values.devices = devices;
    values.rank_list = numbers.data();
    if (int code = call(Word::kCommInitAll, values))
        return refuse(INFINI_STATUS_INTERNAL_ERROR, words(code, Word::kCommInitAll));
    auto world = std::make_shared<World>();
    std::vector<CommunicatorPointer> made;
    for (int i = 0; i < ranks; ++i) {
        made.push_back(add(devices[i], ranks, i, timeout, world));
        made.back()->handle = handles[size_t(i)];
        if (auto status = made.back()->settle()) return status;
    }
    for (int i = 0; i < ranks; ++i) communicators[i] = new InfiniCommunicator{made[size_t(i)]};
    return INFINI_STATUS_SUCCESS;
}

int leave(InfiniCommunicator *communicator) {
    const CommunicatorPointer held = std::move(communicator->held);
    delete communicator;
    World &world = *held->world;
    std::vector<CommunicatorPointer> last;
    {
        std::lock_guard guard(world.lock);
        world.left.push_back(held);
        std::erase_if(world.ranks, [&](const auto &weak) {
            return weak.expired() || weak.lock() == held;  // or it failed to join
        });
        if (world.ranks.empty()) last = std::move(world.left);
    }
    // In some libraries each waits for all.
    std::vector<std::thread> others;
    for (size_t i = 1; i < last.size(); ++i)
        others.emplace_back([&each = last[i]] { each->end(); });
    if (!last.empty()) last[0]->end();
    for (std::thread &other : others) other.join();
    return INFINI_STATUS_SUCCESS;
}

int abort(InfiniCommunicator *communicator, const char *reason) {
    for (const CommunicatorPointer &each : communicator->held->world->all())
        each->fail(INFINI_STATUS_INTERNAL_ERROR, reason);
    return INFINI_STATUS_SUCCESS;
}

int set_timeout(InfiniCommunicator *communicator, double seconds) {
    communicator->held->timeout = seconds;
    return INFINI_STATUS_SUCCESS;
}

int state(InfiniCommunicator *communicator, char *reason, size_t reason_bytes) {
    std::string said;
    const infiniStatus_t status = communicator->held->state(&said);
    snprintf(reason, reason_bytes, "%s", said.c_str());
    return status;
}

int run(InfiniCommunicator *communicator, const InfiniCollective *work, size_t count) {
    return communicator->held->run(work, count);
}

int share(InfiniCommunicator *communicator, const void *mine, void *all, size_t bytes) {
    return communicator->held->share(mine, all, bytes);
}

int about(char *text, size_t text_bytes) {
    const bool can = refusal().empty();
    const std::string name = std::string(vendor.libraries[int(Part::kCollectives)].use) + " (" +
                             path(Part::kCollectives) + ")";
    snprintf(text, text_bytes, "%s", can ? name.c_str() : refusal().c_str());
    return can ? INFINI_STATUS_SUCCESS : INFINI_STATUS_NOT_IMPLEMENTED;
}

int out_of_memory() {
    return refuse(INFINI_STATUS_INTERNAL_ERROR, "host memory or threads ran out");
}

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
    INFINI_ENTRY(run),          // run
    nullptr,                    // submit
    INFINI_ENTRY(share),        // share
    INFINI_ENTRY(about),        // about
};

}  // namespace
}  // namespace infini::vendor_runtime::collectives

extern "C" __attribute__((visibility("default"))) const InfiniCollectives *
infini_backend_collectives() {
    return &infini::vendor_runtime::collectives::table;
}
