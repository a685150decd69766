// The work in the ranks' streams: they wait for each other, and one of them does the work.
#include <cstring>

#include "nccl.h"
#include "nccl_arithmetic.h"

namespace simulated::nccl {
namespace {

using Lock = std::unique_lock<std::mutex>;

void copy(void *to, const void *from, size_t bytes) {
    if (bytes && to != from) memmove(to, from, bytes);
}

// All ranks have arrived and wait. Results may overlap the sent data.
void work(const World &world, const Meeting &meeting) {
    const Operation &first = *meeting.come.at(0);
    const TypeFacts &type = kTypes[first.type];
    const size_t bytes = first.count * type.size;
    const int ranks = world.ranks;
    std::vector<const void *> sent;
    for (int rank = 0; rank < ranks; ++rank) sent.push_back(meeting.come.at(rank)->send);
    const auto into = [&](int rank) { return static_cast<char *>(meeting.come.at(rank)->recv); };
    switch (first.kind) {
        case Kind::kAllReduce:
        case Kind::kReduce:
        case Kind::kReduceScatter: {
            const bool parts = first.kind == Kind::kReduceScatter;
            const size_t elements = first.count * size_t(parts ? ranks : 1);
            std::vector<char> result(elements * type.size);
            type.reduce(first.op, result.data(), sent.data(), ranks, 0, elements);
            for (int rank = 0; rank < ranks; ++rank)
                if (first.kind != Kind::kReduce || rank == first.peer)
                    copy(into(rank), result.data() + (parts ? bytes * size_t(rank) : 0), bytes);
            break;
        }
        case Kind::kBroadcast:
            for (int rank = 0; rank < ranks; ++rank)
                copy(into(rank), sent[size_t(first.peer)], bytes);
            break;
        default: {  // AllGather
            std::vector<char> result(bytes * size_t(ranks));
            for (int rank = 0; rank < ranks; ++rank)
                copy(result.data() + bytes * size_t(rank), sent[size_t(rank)], bytes);
            for (int rank = 0; rank < ranks; ++rank) copy(into(rank), result.data(), result.size());
        }
    }
}

// False: the communicator was aborted meanwhile.
bool meet(Lock &lock, Communicator &me, const Operation &operation) {
    World &world = *me.world;
    const uint64_t number = me.met++;
    Meeting &meeting = world.meetings[number];
    meeting.come[me.rank] = &operation;
    if (int(meeting.come.size()) == world.ranks) {
        bool fit = true;
        for (const auto &[rank, other] : meeting.come) fit = fit && other->fits(operation);
        if (fit) {
            work(world, meeting);
            meeting.done = true;
            world.changed.notify_all();
        } else {
            complain("ranks call different operations: they wait for ever");
        }
    }
    world.changed.wait(lock, [&] { return meeting.done || me.aborted; });
    if (!meeting.done) {
        meeting.come.erase(me.rank);
        return false;
    }
    if (++meeting.left == world.ranks) world.meetings.erase(number);
    return true;
}

bool receive(Lock &lock, Communicator &me, const Operation &operation) {
    auto &queue = me.world->messages[{operation.peer, me.rank}];
    me.world->changed.wait(lock, [&] { return !queue.empty() || me.aborted; });
    if (me.aborted) return false;
    Message &message = *queue.front();
    if (message.operation->count != operation.count || message.operation->type != operation.type) {
        complain("a receiver expects something else than is sent: both wait for ever");
        me.world->changed.wait(lock, [&] { return me.aborted; });
        return false;
    }
    queue.pop_front();
    copy(operation.recv, message.operation->send, operation.count * kTypes[operation.type].size);
    message.taken = true;
    me.world->changed.notify_all();
    return true;
}

void run(Batch &batch) {
    Communicator &me = *batch.communicator;
    World &world = *me.world;
    Lock lock(world.lock);
    std::deque<Message> sent;  // the data does not move
    for (const Operation &operation : batch.operations)
        if (operation.kind == Kind::kSend) {
            sent.push_back({&operation});
            world.messages[{me.rank, operation.peer}].push_back(&sent.back());
        }
    world.changed.notify_all();
    bool well = !me.aborted;
    for (const Operation &operation : batch.operations)
        if (well && !operation.is_message()) well = meet(lock, me, operation);
    for (const Operation &operation : batch.operations)
        if (well && operation.kind == Kind::kRecv) well = receive(lock, me, operation);
    for (Message &message : sent) {
        world.changed.wait(lock, [&] { return message.taken || me.aborted; });
        if (!message.taken)
            std::erase(world.messages[{me.rank, message.operation->peer}], &message);
    }
}

}  // namespace

void run_batch(void *data) {
    auto *batch = static_cast<Batch *>(data);
    run(*batch);
    if (!batch->captured) delete batch;
}

}  // namespace simulated::nccl
