// Collectives as steps: launched immediately, or recorded and launched at every replay.
#include "infinicore/collectives.hpp"

#include <algorithm>
#include <optional>

#include "collective_call.h"
#include "infini/ext.h"
#include "layout.h"
#include "recorder.h"

namespace infinicore::collectives {

using namespace detail;

namespace {

constexpr const char *kNames[INFINI_COLLECTIVE_KINDS] = {
    "collective", "all_reduce", "reduce",     "broadcast", "all_gather", "reduce_scatter",
    "gather",     "scatter",    "all_to_all", "send",      "recv",
};

// A collective without its tensors: `send` and `recv` are pointers of the step, -1 where one is
// absent.
struct Part {
    InfiniCollectiveKind kind;
    int send, recv;
    size_t count;  // as the C function takes it
    infiniDtype_t dtype;
    infinicclComm_t comm;
    infinicclReduceOp_t op;
    int root;
    DeviceRuntime *runtime;

    infiniStatus_t enqueue(void *const *pointers, infinirtStream_t stream) const {
        void *from = send < 0 ? nullptr : pointers[send], *to = recv < 0 ? nullptr : pointers[recv];
        switch (kind) {
            case INFINI_ALL_REDUCE:
                return infinicclAllReduce(from, to, count, dtype, op, comm, stream);
            case INFINI_REDUCE:
                return infinicclReduce(from, to, count, dtype, op, root, comm, stream);
            case INFINI_BROADCAST:
                return infinicclBroadcast(from, to, count, dtype, root, comm, stream);
            case INFINI_ALL_GATHER:
                return infinicclAllGather(from, to, count, dtype, comm, stream);
            case INFINI_REDUCE_SCATTER:
                return infinicclReduceScatter(from, to, count, dtype, op, comm, stream);
            case INFINI_GATHER:
                return infinicclGather(from, to, count, dtype, root, comm, stream);
            case INFINI_SCATTER:
                return infinicclScatter(from, to, count, dtype, root, comm, stream);
            case INFINI_ALL_TO_ALL:
                return infinicclAllToAll(from, to, count, dtype, comm, stream);
            case INFINI_SEND:
                return infinicclSend(from, count, dtype, root, comm, stream);
            default:
                return infinicclRecv(to, count, dtype, root, comm, stream);
        }
    }
};

// One collective, or a group of them.
class CollectiveStep final : public Step {
public:
    void add(const Collective &given, Part part) {
        part.send = add_place(given.send, false);
        part.recv = add_place(given.recv, true);
        part.runtime = &runtime_of((given.send ? given.send : given.recv)->device());
        if (!runtime) runtime = part.runtime;
        is_across |= part.runtime != runtime;
        name += (name.empty() ? "" : "+") + std::string(kNames[part.kind]);
        parts_.push_back(part);
    }

    void launch(void *const *given, void *, infinirtStream_t stream) const override {
        const bool is_group = parts_.size() > 1;
        if (is_group) check(infinicclGroupStart(nullptr), name.c_str());
        std::string failure;
        for (const Part &part : parts_) {
            const bool here = part.runtime == runtime;
            if (!part.enqueue(given, here ? stream : stream_of(*part.runtime))) continue;
            failure = infiniGetLastErrorMessage();
            break;
        }
        // After a failure it enqueues nothing and fails.
        if (is_group && infinicclGroupEnd(nullptr) && failure.empty())
            failure = infiniGetLastErrorMessage();
        if (!failure.empty()) throw std::runtime_error(name + ": " + failure);
    }

    std::vector<Tensor> held;  // until the step is performed

private:
    int add_place(const Tensor &tensor, bool written) {
        if (!tensor) return -1;
        arguments.push_back({int(tensors.size()), written, !written});
        tensors.push_back(layout_of(*tensor));
        present.push_back(1);
        held.push_back(tensor);
        return int(held.size()) - 1;
    }

    std::vector<Part> parts_;
};

void perform_all(const std::shared_ptr<CollectiveStep> &step) {
    const std::vector<Tensor> held = std::move(step->held);
    std::vector<const TensorImpl *> tensors;
    for (const Tensor &tensor : held) tensors.push_back(&*tensor);
    perform(step, tensors);
}

// ---- Checks -------------------------------------------------------------------------------------

bool reduces(InfiniCollectiveKind kind) {
    return kind == INFINI_ALL_REDUCE || kind == INFINI_REDUCE || kind == INFINI_REDUCE_SCATTER;
}

bool has_root(InfiniCollectiveKind kind) {
    return kind == INFINI_REDUCE || kind == INFINI_BROADCAST || kind == INFINI_GATHER ||
           kind == INFINI_SCATTER || kind == INFINI_SEND || kind == INFINI_RECEIVE;
}

// How many elements a tensor has for each element of a rank's share.
struct Sizes {
    size_t send, recv;
};

Sizes sizes_of(InfiniCollectiveKind kind, size_t ranks) {
    switch (kind) {
        case INFINI_ALL_GATHER:
        case INFINI_GATHER:
            return {1, ranks};
        case INFINI_REDUCE_SCATTER:
        case INFINI_SCATTER:
            return {ranks, 1};
        case INFINI_ALL_TO_ALL:
            return {ranks, ranks};
        default:
            return {1, 1};
    }
}

// The tensors that a rank must pass.
struct Needs {
    bool send, recv;
};

Needs needs_of(const Collective &given, int rank) {
    const bool is_root = rank == given.root;
    switch (given.kind) {
        case INFINI_REDUCE:
        case INFINI_GATHER:
            return {true, is_root};
        case INFINI_BROADCAST:
            return {is_root, true};
        case INFINI_SCATTER:
            return {is_root, true};
        case INFINI_SEND:
            return {true, false};
        case INFINI_RECEIVE:
            return {false, true};
        default:
            return {true, true};
    }
}

void check_reduction(const char *name, const Collective &given, DataType dtype) {
    if (given.op < INFINICCL_SUM || given.op > INFINICCL_AVG)
        fail(name, "op is " + std::to_string(given.op) + ": expected an infinicclReduceOp_t");
    if (dtype == DataType::BOOL || dtype == DataType::C16 || dtype == DataType::C32 ||
        dtype == DataType::C64 || dtype == DataType::C128)
        fail(name,
             "truth values and complex numbers can be moved, not combined: expected integers "
             "or floats");
}

void check_tensor(const char *name, const char *word, const Tensor &tensor, const Tensor &other,
                  size_t elements) {
    if (!tensor) return;
    if (!tensor->is_contiguous())
        fail(name, std::string(word) + " is not contiguous: expected contiguous() of it");
    if (tensor->dtype() != other->dtype())
        fail(name, std::string(word) + " has another type than the other tensor: expected one");
    if (tensor->device() != other->device())
        fail(name, std::string(word) + " is on " + tensor->device().toString() + ": expected " +
                       other->device().toString());
    if (tensor->numel() != elements)
        fail(name, std::string(word) + " has " + std::to_string(tensor->numel()) +
                       " elements: expected " + std::to_string(elements));
}

Part check_part(const Collective &given) {
    if (given.kind < INFINI_ALL_REDUCE || given.kind >= INFINI_COLLECTIVE_KINDS)
        fail("collectives::run",
             "kind is " + std::to_string(given.kind) + ": expected an InfiniCollectiveKind");
    const char *name = kNames[given.kind];
    int ranks = 0, rank = 0;
    check(infinicclCommCount(given.comm, &ranks), name);
    check(infinicclCommRank(given.comm, &rank), name);
    if (has_root(given.kind) && (given.root < 0 || given.root >= ranks))
        fail(name, "root is " + std::to_string(given.root) + ": expected 0 to " +
                       std::to_string(ranks - 1));
    const Needs needs = needs_of(given, rank);
    if ((needs.send && !given.send) || (needs.recv && !given.recv))
        fail(name, std::string(needs.send && !given.send ? "send" : "recv") +
                       " is empty: expected a tensor");
    const Sizes sizes = sizes_of(given.kind, size_t(ranks));
    const Tensor &some = given.send ? given.send : given.recv;
    if (reduces(given.kind)) check_reduction(name, given, some->dtype());
    const size_t count = some->numel() / (given.send ? sizes.send : sizes.recv);
    check_tensor(name, "send", given.send, some, count * sizes.send);
    check_tensor(name, "recv", given.recv, some, count * sizes.recv);
    return {given.kind, -1,       -1,         count,  infiniDtype_t(some->dtype()),
            given.comm, given.op, given.root, nullptr};
}

// ---- Groups of a recording ----------------------------------------------------------------------

struct OpenGroup {
    const Recorder *recorder;
    int depth = 1;
    std::shared_ptr<CollectiveStep> step = std::make_shared<CollectiveStep>();
};

thread_local std::optional<OpenGroup> open_group;

}  // namespace

void run(const Collective &collective) {
    const Part part = check_part(collective);
    const Recorder *recorder = thread_state().recorder;
    if (recorder && recorder->traced)
        fail(kNames[part.kind],
             "ranks can't meet in a function that is traced: expected it in a graph, or outside");
    if (recorder && open_group && open_group->recorder == recorder)
        return open_group->step->add(collective, part);
    auto step = std::make_shared<CollectiveStep>();
    step->add(collective, part);
    perform_all(step);
}

int enqueue_at_once(const Collective &given, int ranks, int rank, const Device &device) {
    const Needs needs = needs_of(given, rank);
    const Tensor &some = given.send ? given.send : given.recv;
    if (thread_state().recorder || (needs.send && !given.send) || (needs.recv && !given.recv))
        return kNotEnqueued;
    const Sizes sizes = sizes_of(given.kind, size_t(ranks));
    const size_t count = some->numel() / (given.send ? sizes.send : sizes.recv);
    const DataType dtype = some->dtype();
    auto fits = [&](const Tensor &tensor, size_t elements) {
        return !tensor || (tensor->is_contiguous() && tensor->dtype() == dtype &&
                           tensor->device() == device && tensor->numel() == elements);
    };
    if (!fits(given.send, count * sizes.send) || !fits(given.recv, count * sizes.recv))
        return kNotEnqueued;
    void *const pointers[] = {given.send ? given.send->data() : nullptr,
                              given.recv ? given.recv->data_to_write() : nullptr};
    const Part part{given.kind, given.send ? 0 : -1,  given.recv ? 1 : -1,
                    count,      infiniDtype_t(dtype), given.comm,
                    given.op,   given.root,           nullptr};
    return part.enqueue(pointers, stream_of(runtime_of(device)));
}

void groupStart() {
    const Recorder *recorder = recorded_graph();
    if (!recorder) {
        open_group.reset();  // of a recording that was cancelled
        return check(infinicclGroupStart(nullptr), "groupStart");
    }
    if (open_group && open_group->recorder == recorder)
        ++open_group->depth;
    else
        open_group.emplace(OpenGroup{recorder});
}

void groupEnd() {
    if (!open_group) return check(infinicclGroupEnd(nullptr), "groupEnd");
    if (open_group->recorder != recorded_graph()) {
        open_group.reset();
        fail("groupEnd", "the recording ended inside the group: expected it to end behind it");
    }
    if (--open_group->depth > 0) return;
    const std::shared_ptr<CollectiveStep> step = std::move(open_group->step);
    open_group.reset();
    if (step->runtime) perform_all(step);
}

void drop_group() { open_group.reset(); }

}  // namespace infinicore::collectives
