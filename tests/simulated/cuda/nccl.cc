// The functions of the NCCL look-alike. Strict: what it rejects, or reports, would hang, crash or
// be undefined with NCCL. As there, the first operation of a communicator connects the ranks, and
// waits for all of them.
#include "nccl.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "beside.h"
#include "nccl_arithmetic.h"

#define NCCL_EXPORT extern "C" __attribute__((visibility("default")))

namespace simulated::nccl {
namespace {

enum Result { kSuccess, kCuda, kSystem, kInternal, kArgument, kUsage, kRemote, kInProgress };

struct Id {
    uint64_t magic;
    int64_t process, number;
    char rest[104];
};
static_assert(sizeof(Id) == 128);
constexpr uint64_t kMagic = 0x73696d756c617465;

struct Config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

std::mutex lock;
std::string last_error;
std::map<int64_t, std::shared_ptr<World>> worlds;  // that still lack ranks
std::set<Communicator *> live;
std::atomic<int64_t> ids{0};

struct Group {
    int depth = 0;
    Result failed = kSuccess;
    std::vector<std::pair<Communicator *, Operation>> operations;
    std::vector<Communicator *> joining;
};
thread_local Group group;

Result wrong(Result result, const std::string &sentence) {
    {
        std::lock_guard guard(lock);
        last_error = sentence;
    }
    if (group.depth && !group.failed) group.failed = result;
    return result;
}

// ---- The simulated runtime ----------------------------------------------------------------------

void *runtime_symbol(const char *name) {
    static void *const library = open_runtime();
    return library ? dlsym(library, name) : nullptr;
}

#define CUDA(name, ...)                                                                \
    [&] {                                                                              \
        static const auto function =                                                   \
            reinterpret_cast<decltype(&infinirt##name)>(runtime_symbol("cuda" #name)); \
        return function(__VA_ARGS__);                                                  \
    }()

struct OnDevice {
    explicit OnDevice(int device) {
        CUDA(GetDevice, &before);
        CUDA(SetDevice, device);
    }
    ~OnDevice() { CUDA(SetDevice, before); }
    int before = 0;
};

bool is_device_memory(const void *memory) {
    infinirtPointerAttributes attributes{};
    const auto error = CUDA(PointerGetAttributes, &attributes, memory);
    if (error) CUDA(GetLastError);
    return !error && (attributes.type == infinirtMemoryTypeDevice ||
                      attributes.type == infinirtMemoryTypeManaged);
}

// ---- Enqueueing ---------------------------------------------------------------------------------

// Runs in the communicator's own stream, ordered between earlier and later work in the client's.
Result enqueue(std::unique_ptr<Batch> batch) {
    Communicator &me = *batch->communicator;
    OnDevice here(me.device);
    std::set<infinirtStream_t> streams;
    for (const Operation &operation : batch->operations) streams.insert(operation.stream);
    bool well = true;
    const auto order = [&](infinirtStream_t before, infinirtStream_t after) {
        infinirtEvent_t event = nullptr;
        well = well && !CUDA(EventCreateWithFlags, &event, unsigned(infinirtEventDisableTiming)) &&
               !CUDA(EventRecord, event, before) && !CUDA(StreamWaitEvent, after, event, 0u);
        if (event) CUDA(EventDestroy, event);
    };
    for (infinirtStream_t stream : streams) {
        infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
        CUDA(StreamIsCapturing, stream, &status);
        if (status != infinirtStreamCaptureStatusNone) batch->captured = true;
        order(stream, me.stream);
    }
    Batch *data = batch.get();
    if (batch->captured)
        me.kept.push_back(std::move(batch));
    else
        (void)batch.release();
    well = well && !CUDA(LaunchHostFunc, me.stream, run_batch, data);
    for (infinirtStream_t stream : streams) order(me.stream, stream);
    return well ? kSuccess : wrong(kCuda, "simulated NCCL: the runtime refused");
}

// Connected ranks begin immediately; the last one to connect lets the others begin, too.
Result begin(std::unique_ptr<Batch> batch) {
    Communicator &me = *batch->communicator;
    World &world = *me.world;
    std::unique_lock guard(world.lock);
    if (me.connected) {
        guard.unlock();
        return enqueue(std::move(batch));
    }
    me.connecting = true;
    me.waiting.push_back(std::move(batch));
    if (!std::all_of(world.members.begin(), world.members.end(),
                     [](const Communicator *other) { return other && other->connecting; })) {
        if (!me.blocking) return kInProgress;
        world.changed.wait(guard, [&] { return me.connected || me.aborted; });
        return me.connected ? kSuccess : kInternal;
    }
    Result result = kSuccess;
    for (Communicator *other : world.members) {
        std::vector<std::unique_ptr<Batch>> waiting = std::move(other->waiting);
        guard.unlock();
        for (auto &each : waiting)
            if (Result failed = enqueue(std::move(each))) result = failed;
        guard.lock();
        other->connected = true;
    }
    world.changed.notify_all();
    return result;
}

Result end_group(Group ended) {
    for (Communicator *me : ended.joining) {
        if (!me->blocking) continue;
        std::unique_lock guard(me->world->lock);
        me->world->changed.wait(guard, [&] { return me->world->joined == me->world->ranks; });
    }
    Result result = std::any_of(ended.joining.begin(), ended.joining.end(),
                                [](const Communicator *me) { return !me->blocking; })
                        ? kInProgress
                        : kSuccess;
    std::vector<std::unique_ptr<Batch>> batches;
    for (const auto &[communicator, operation] : ended.operations) {
        auto at = std::find_if(batches.begin(), batches.end(), [&](const auto &batch) {
            return batch->communicator == communicator;
        });
        if (at == batches.end()) {
            batches.push_back(std::make_unique<Batch>(Batch{communicator, {}, false}));
            at = batches.end() - 1;
        }
        (*at)->operations.push_back(operation);
    }
    // One thread for several blocking ranks: they connect together.
    for (const auto &batch : batches) {
        std::lock_guard guard(batch->communicator->world->lock);
        batch->communicator->connecting = true;
    }
    for (auto &batch : batches)
        if (Result failed = begin(std::move(batch))) result = failed;
    return result;
}

Result add(Communicator *me, const Operation &operation) {
    {
        std::lock_guard guard(lock);
        if (!live.count(me)) {
            complain("a call with a communicator that is none");
            return kArgument;
        }
    }
    World &world = *me->world;
    {
        std::lock_guard guard(world.lock);
        if (world.joined < world.ranks || (me->connecting && !me->connected))
            return wrong(kUsage, "a call while another one is in progress");
    }
    const Operation &o = operation;
    if (o.type < 0 || o.type >= kTypeCount) return wrong(kArgument, "the type is unknown");
    if (o.op < 0 || o.op > kAverage) return wrong(kArgument, "the operation is unknown");
    if (o.peer < -1 || o.peer >= world.ranks) return wrong(kArgument, "there is no such rank");
    const bool root = o.peer == me->rank;
    const bool reads = o.kind == Kind::kBroadcast ? root : o.kind != Kind::kRecv;
    const bool writes = o.kind == Kind::kReduce ? root : o.kind != Kind::kSend;
    if (o.count && ((reads && !is_device_memory(o.send)) || (writes && !is_device_memory(o.recv))))
        return wrong(kArgument, "a pointer is none to memory of a device");
    if (o.count == 0 && !o.is_message()) return kSuccess;
    if (group.depth) {
        group.operations.push_back({me, operation});
        return kSuccess;
    }
    Group alone;
    alone.operations.push_back({me, operation});
    return end_group(std::move(alone));
}

// ---- Communicators ------------------------------------------------------------------------------

Result join(Communicator **made, int ranks, const Id &id, int rank, const Config *config) {
    *made = nullptr;
    if (config && (config->magic != 0xcafebeef || config->size < sizeof(Config) - 4))
        return wrong(kArgument, "the configuration was not initialised");
    if (rank < 0 || rank >= ranks) return wrong(kArgument, "there is no such rank");
    if (id.magic != kMagic || id.process != getpid())
        return wrong(kSystem, "simulated NCCL: the id is of no one, or of another process");
    auto me = std::make_unique<Communicator>();
    {
        std::lock_guard guard(lock);
        std::shared_ptr<World> &world = worlds[id.number];
        if (!world) world = std::make_shared<World>(ranks);
        me->world = world;
    }
    me->rank = rank;
    me->blocking = !config || config->blocking != 0;
    CUDA(GetDevice, &me->device);
    World &world = *me->world;
    std::unique_lock guard(world.lock);
    if (world.ranks != ranks || world.members[size_t(rank)])
        return wrong(kUsage, "the rank is there already, or their number is another one");
    const char *shared = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    for (const Communicator *other : world.members)
        if (other && other->device == me->device && !(shared && *shared == '1'))
            return wrong(kUsage, "Duplicate GPU detected: two ranks have the same device");
    if (CUDA(StreamCreateWithFlags, &me->stream, unsigned(infinirtStreamNonBlocking)))
        return wrong(kCuda, "simulated NCCL: no stream");
    world.members[size_t(rank)] = me.get();
    *made = me.release();
    {
        std::lock_guard all(lock);
        live.insert(*made);
        if (++world.joined == ranks) worlds.erase(id.number);
    }
    world.changed.notify_all();
    if (group.depth) group.joining.push_back(*made);
    if (!(*made)->blocking) return group.depth ? kSuccess : kInProgress;
    if (!group.depth) world.changed.wait(guard, [&] { return world.joined == world.ranks; });
    return kSuccess;
}

Result state(Communicator &me) {
    World &world = *me.world;
    std::lock_guard guard(world.lock);
    if (world.joined < world.ranks || (me.connecting && !me.connected)) return kInProgress;
    if (me.finalized && CUDA(StreamQuery, me.stream) == infinirtErrorNotReady) return kInProgress;
    return kSuccess;
}

Result destroy(Communicator *me, bool abort) {
    {
        std::lock_guard guard(lock);
        if (!live.erase(me)) {
            complain("a communicator is destroyed that is none");
            return kArgument;
        }
    }
    if (!abort && !me->blocking && (!me->finalized || state(*me) == kInProgress))
        complain("a communicator is destroyed before it is finalized");
    {
        std::lock_guard guard(me->world->lock);
        me->aborted = abort;
        me->world->members[size_t(me->rank)] = nullptr;
        me->world->changed.notify_all();
    }
    CUDA(StreamSynchronize, me->stream);
    CUDA(StreamDestroy, me->stream);
    // Graphs that hold its operations may still exist: they are leaked with it.
    if (me->kept.empty()) delete me;
    return kSuccess;
}

}  // namespace

void complain(const std::string &sentence) {
    std::fprintf(stderr, "simulated NCCL: %s\n", sentence.c_str());
}

}  // namespace simulated::nccl

using namespace simulated::nccl;

NCCL_EXPORT int ncclGetVersion(int *version) { return *version = 22403, kSuccess; }

NCCL_EXPORT int ncclGetUniqueId(Id *id) {
    *id = {kMagic, getpid(), ++ids, {}};
    return kSuccess;
}

NCCL_EXPORT int ncclCommInitRankConfig(Communicator **made, int ranks, Id id, int rank,
                                       Config *config) {
    return join(made, ranks, id, rank, config);
}

NCCL_EXPORT int ncclCommInitRank(Communicator **made, int ranks, Id id, int rank) {
    return join(made, ranks, id, rank, nullptr);
}

NCCL_EXPORT int ncclGroupStart() { return ++group.depth, kSuccess; }

NCCL_EXPORT int ncclGroupEnd() {
    if (group.depth == 0) return wrong(kUsage, "no group was begun");
    if (--group.depth) return kSuccess;
    Group ended = std::move(group);
    group = Group();
    return ended.failed ? ended.failed : end_group(std::move(ended));
}

NCCL_EXPORT int ncclCommInitAll(Communicator **made, int ranks, const int *devices) {
    Id id;
    ncclGetUniqueId(&id);
    ncclGroupStart();
    for (int i = 0; i < ranks; ++i) {
        OnDevice here(devices ? devices[i] : i);
        join(&made[i], ranks, id, i, nullptr);
    }
    return ncclGroupEnd();
}

NCCL_EXPORT int ncclCommFinalize(Communicator *me) {
    me->finalized = true;
    return me->blocking ? kSuccess : kInProgress;
}

NCCL_EXPORT int ncclCommCuDevice(const Communicator *me, int *device) {
    return *device = me->device, kSuccess;
}
NCCL_EXPORT int ncclCommDestroy(Communicator *me) { return destroy(me, false); }
NCCL_EXPORT int ncclCommAbort(Communicator *me) { return destroy(me, true); }

NCCL_EXPORT int ncclCommGetAsyncError(Communicator *me, int *result) {
    {
        std::lock_guard guard(lock);
        if (!live.count(me)) return complain("a question about no communicator"), kArgument;
    }
    return *result = state(*me), kSuccess;
}

NCCL_EXPORT const char *ncclGetErrorString(int result) {
    constexpr const char *kTexts[] = {"no error",       "unhandled cuda error", "system error",
                                      "internal error", "invalid argument",     "invalid usage",
                                      "remote error",   "in progress"};
    return result >= 0 && result <= kInProgress ? kTexts[result] : "unknown result";
}

NCCL_EXPORT const char *ncclGetLastError(Communicator *) {
    static thread_local std::string text;
    std::lock_guard guard(lock);
    return (text = last_error).c_str();
}

NCCL_EXPORT int ncclAllReduce(const void *send, void *recv, size_t count, int type, int op,
                              Communicator *me, infinirtStream_t stream) {
    return add(me, {Kind::kAllReduce, send, recv, count, type, op, -1, stream});
}
NCCL_EXPORT int ncclReduce(const void *send, void *recv, size_t count, int type, int op, int root,
                           Communicator *me, infinirtStream_t stream) {
    return add(me, {Kind::kReduce, send, recv, count, type, op, root, stream});
}
NCCL_EXPORT int ncclBroadcast(const void *send, void *recv, size_t count, int type, int root,
                              Communicator *me, infinirtStream_t stream) {
    return add(me, {Kind::kBroadcast, send, recv, count, type, 0, root, stream});
}
NCCL_EXPORT int ncclAllGather(const void *send, void *recv, size_t count, int type,
                              Communicator *me, infinirtStream_t stream) {
    return add(me, {Kind::kAllGather, send, recv, count, type, 0, -1, stream});
}
NCCL_EXPORT int ncclReduceScatter(const void *send, void *recv, size_t count, int type, int op,
                                  Communicator *me, infinirtStream_t stream) {
    return add(me, {Kind::kReduceScatter, send, recv, count, type, op, -1, stream});
}
NCCL_EXPORT int ncclSend(const void *send, size_t count, int type, int peer, Communicator *me,
                         infinirtStream_t stream) {
    return add(me, {Kind::kSend, send, nullptr, count, type, 0, peer, stream});
}
NCCL_EXPORT int ncclRecv(void *recv, size_t count, int type, int peer, Communicator *me,
                         infinirtStream_t stream) {
    return add(me, {Kind::kRecv, nullptr, recv, count, type, 0, peer, stream});
}
