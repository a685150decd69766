// Submission of a group to the vendor's streams.
#include <algorithm>
#include <map>
#include <set>

#include "collectives/communicator.h"
#include "collectives/gathered.h"
#include "look_up.h"
#include "runtime/driver.h"
#include "runtime/vendor_call.h"

namespace infini::cuda::collectives {
namespace {

// The library's type for elements of a type, and how many of them form one.
struct Form {
    Type type = Type::kNone;
    size_t times = 1;
};

// Data movement is bytewise.
Form moved(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_I16:
        case INFINI_DTYPE_U16:
        case INFINI_DTYPE_F16:
        case INFINI_DTYPE_BF16:
        case INFINI_DTYPE_C16:
            return {Type::kFloat16};
        case INFINI_DTYPE_I32:
        case INFINI_DTYPE_U32:
        case INFINI_DTYPE_F32:
        case INFINI_DTYPE_C32:
            return {Type::kInt32};
        case INFINI_DTYPE_I64:
        case INFINI_DTYPE_U64:
        case INFINI_DTYPE_F64:
        case INFINI_DTYPE_C64:
            return {Type::kInt64};
        case INFINI_DTYPE_C128:
            return {Type::kInt64, 2};
        default:
            return {Type::kInt8};
    }
}

Type combined(int dtype) {
    static constexpr std::pair<int, Type> kTypes[] = {
        {INFINI_DTYPE_I8, Type::kInt8},       {INFINI_DTYPE_BYTE, Type::kUint8},
        {INFINI_DTYPE_U8, Type::kUint8},      {INFINI_DTYPE_I32, Type::kInt32},
        {INFINI_DTYPE_U32, Type::kUint32},    {INFINI_DTYPE_I64, Type::kInt64},
        {INFINI_DTYPE_U64, Type::kUint64},    {INFINI_DTYPE_F16, Type::kFloat16},
        {INFINI_DTYPE_BF16, Type::kBfloat16}, {INFINI_DTYPE_F32, Type::kFloat32},
        {INFINI_DTYPE_F64, Type::kFloat64}};
    return look_up(kTypes, dtype, Type::kNone);
}

bool is_narrow_integer(Type type) {
    return type == Type::kInt8 || type == Type::kUint8 || type == Type::kInt32 ||
           type == Type::kUint32;
}

bool reduces(int kind) {
    return kind == INFINI_ALL_REDUCE || kind == INFINI_REDUCE || kind == INFINI_REDUCE_SCATTER;
}

// The library adds in the element type: the sum of small integers may wrap before the division, and
// 8-bit floats would be rounded at each step.
bool must_be_gathered(const InfiniCollective &work) {
    if (!reduces(work.kind)) return false;
    const Type type = combined(work.dtype);
    return type == Type::kNone || (work.op == kAverage && is_narrow_integer(type));
}

const char *word(int kind) {
    static constexpr std::pair<int, const char *> kWords[] = {
        {INFINI_ALL_REDUCE, "AllReduce"},
        {INFINI_REDUCE, "Reduce"},
        {INFINI_BROADCAST, "Broadcast"},
        {INFINI_ALL_GATHER, "AllGather"},
        {INFINI_REDUCE_SCATTER, "ReduceScatter"},
        {INFINI_SEND, "Send"},
        {INFINI_RECEIVE, "Recv"}};
    return look_up(kWords, kind, static_cast<const char *>(nullptr));
}

int call(const InfiniCollective &w, Form form, Handle handle) {
    const Functions &f = library();
    const size_t count = w.count * form.times;
    switch (w.kind) {
        case INFINI_ALL_REDUCE:
            return f.AllReduce(w.send, w.recv, count, form.type, w.op, handle, w.stream);
        case INFINI_REDUCE:
            return f.Reduce(w.send, w.recv, count, form.type, w.op, w.root, handle, w.stream);
        case INFINI_BROADCAST:
            return f.Broadcast(w.send, w.recv, count, form.type, w.root, handle, w.stream);
        case INFINI_ALL_GATHER:
            return f.AllGather(w.send, w.recv, count, form.type, handle, w.stream);
        case INFINI_REDUCE_SCATTER:
            return f.ReduceScatter(w.send, w.recv, count, form.type, w.op, handle, w.stream);
        case INFINI_SEND:
            return f.Send(w.send, count, form.type, w.root, handle, w.stream);
        default:
            return f.Recv(w.recv, count, form.type, w.root, handle, w.stream);
    }
}

std::string described(const InfiniCollective &work) {
    std::string text = word(work.kind);
    text += " of " + std::to_string(work.count) + " elements";
    if (work.kind == INFINI_SEND) text += " to rank " + std::to_string(work.root);
    if (work.kind == INFINI_RECEIVE) text += " from rank " + std::to_string(work.root);
    return text;
}

using CommunicatorPointer = std::shared_ptr<Communicator>;

// A group: its operations, and the communicators that they use.
class Group {
public:
    infiniStatus_t add(const CommunicatorPointer &communicator, const InfiniCollective &work) {
        if (!word(work.kind) || work.send_counts || work.recv_counts)
            return INFINI_STATUS_NOT_IMPLEMENTED;
        if (work.count == 0) return INFINI_STATUS_SUCCESS;
        Item item{communicator, work, {}, nullptr};
        if (must_be_gathered(work))
            item.gathered = std::make_unique<Gathered>(*communicator, work);
        else
            item.form = reduces(work.kind) ? Form{combined(work.dtype)} : moved(work.dtype);
        // With one rank, the library's average skips the last elements if they do not fill a block.
        if (communicator->ranks == 1 && work.op == kAverage) item.work.op = kSum;
        communicators_.insert(communicator);
        items_.push_back(std::move(item));
        return INFINI_STATUS_SUCCESS;
    }

    infiniStatus_t enqueue() {
        std::string reason;
        for (const auto &communicator : communicators_)
            if (infiniStatus_t status = communicator->check_device(&reason))
                return refuse(status, reason);
        if (items_.empty()) return INFINI_STATUS_SUCCESS;
        // In the order of their addresses, to avoid deadlocks between threads.
        std::vector<std::unique_lock<Turn>> turns;
        for (const auto &communicator : communicators_) turns.emplace_back(communicator->turn);
        infiniStatus_t status = begin_watched();
        for (Item &item : items_)
            if (item.gathered && status == INFINI_STATUS_SUCCESS) status = item.gathered->begin();
        if (status == INFINI_STATUS_SUCCESS) status = call_all();
        if (status == INFINI_STATUS_SUCCESS) status = settle_all();
        for (Item &item : items_) {
            if (item.gathered && status == INFINI_STATUS_SUCCESS) status = item.gathered->end();
            item.gathered.reset();
        }
        // Also called after a failure: the events must be recorded.
        for (auto &[where, pending] : watched_)
            if (infiniStatus_t ended = where.first->end(where.second, std::move(pending));
                status == INFINI_STATUS_SUCCESS)
                status = ended;
        if (status == INFINI_STATUS_SUCCESS)
            for (const auto &[where, pending] : watched_) watch(where.first);
        return status;
    }

private:
    struct Item {
        CommunicatorPointer communicator;
        InfiniCollective work;
        Form form;
        std::unique_ptr<Gathered> gathered;
    };

    std::string what_of(const CommunicatorPointer &communicator) const {
        size_t more = 0;
        std::string text;
        for (const Item &item : items_) {
            if (item.communicator != communicator) continue;
            if (text.empty())
                text = described(item.work);
            else
                ++more;
        }
        return more ? text + " and " + std::to_string(more) + " more" : text;
    }

    infiniStatus_t begin_watched() {
        std::set<std::pair<Communicator *, void *>> seen;
        for (const Item &item : items_) {
            if (!seen.insert({item.communicator.get(), item.work.stream}).second) continue;
            if (is_capturing(item.communicator->device, item.work.stream)) {
                item.communicator->captured = true;
                continue;
            }
            Pending pending{item.work.stream, nullptr, nullptr, what_of(item.communicator)};
            if (infiniStatus_t status = item.communicator->begin(item.work.stream, &pending))
                return status;
            watched_.push_back({{item.communicator, item.work.stream}, std::move(pending)});
        }
        return INFINI_STATUS_SUCCESS;
    }

    infiniStatus_t call_all() {
        const Functions &f = library();
        if (int code = f.GroupStart()) return failed(code, "GroupStart", nullptr);
        infiniStatus_t status = INFINI_STATUS_SUCCESS;
        for (const Item &item : items_) {
            if (status != INFINI_STATUS_SUCCESS) break;
            OnDevice here(item.communicator->device);
            status = item.communicator->with_handle([&](Handle handle) {
                const int code = item.gathered ? item.gathered->call(handle)
                                               : call(item.work, item.form, handle);
                return code == kSuccess || code == kInProgress
                           ? INFINI_STATUS_SUCCESS
                           : failed(code, word(item.work.kind), handle);
            });
        }
        const int code = f.GroupEnd();
        if (status == INFINI_STATUS_SUCCESS && code != kSuccess && code != kInProgress)
            status = failed(code, "GroupEnd", nullptr);
        return status;
    }

    // Each is completed, even if another one has failed.
    infiniStatus_t settle_all() {
        infiniStatus_t status = INFINI_STATUS_SUCCESS;
        for (const auto &communicator : communicators_) {
            const std::string late = "rank " + std::to_string(communicator->rank) +
                                     " could not connect to the other ranks for " +
                                     what_of(communicator) + " within ";
            const infiniStatus_t one = communicator->settle("GroupEnd", late);
            if (status == INFINI_STATUS_SUCCESS) status = one;
        }
        return status;
    }

    static infiniStatus_t failed(int code, const char *function, Handle handle) {
        constexpr int kInvalidArgument = 4, kInvalidUsage = 5;
        return refuse(code == kInvalidArgument || code == kInvalidUsage
                          ? INFINI_STATUS_BAD_PARAM
                          : INFINI_STATUS_INTERNAL_ERROR,
                      words(code, function, handle));
    }

    std::vector<Item> items_;
    std::set<CommunicatorPointer> communicators_;
    std::vector<std::pair<std::pair<CommunicatorPointer, void *>, Pending>> watched_;
};

}  // namespace

int submit(InfiniCommunicator *const *communicators, const InfiniCollective *work, size_t count) {
    Group group;
    for (size_t i = 0; i < count; ++i)
        if (infiniStatus_t status = group.add(communicators[i]->held, work[i])) return status;
    return group.enqueue();
}

// ---- Host data --------------------------------------------------------------------------

namespace {

// A stream and memory for all ranks' bytes.
struct Staging {
    Staging(int device, size_t bytes) : device(device) {
        if (!stream_create(device, infinirtStreamNonBlocking, 0, &stream) &&
            !allocate(device, bytes, &memory))
            there = true;
    }
    ~Staging() {
        if (memory) release(device, memory, 0);
        if (stream) stream_destroy(device, stream);
    }

    int device;
    void *stream = nullptr, *memory = nullptr;
    bool there = false;
};

}  // namespace

int share(InfiniCommunicator *communicator, const void *mine, void *all, size_t bytes) {
    const CommunicatorPointer &held = communicator->held;
    Staging staging(held->device, bytes * size_t(held->ranks));
    char *part = static_cast<char *>(staging.memory) + bytes * size_t(held->rank);
    const auto copy = [&](void *to, const void *from, size_t length) {
        OnDevice here(held->device);
        return INFINI_CALL(MemcpyAsync, to, from, length, infinirtMemcpyDefault,
                           static_cast<infinirtStream_t>(staging.stream));
    };
    if (!staging.there || copy(part, mine, bytes)) return INFINI_STATUS_INTERNAL_ERROR;
    InfiniCollective work{};
    work.kind = INFINI_ALL_GATHER;
    work.dtype = INFINI_DTYPE_BYTE;
    work.send = part;
    work.recv = staging.memory;
    work.count = bytes;
    work.stream = staging.stream;
    if (int status = submit(&communicator, &work, 1)) return status;
    // A missing rank makes it fail, which ends the wait.
    if (copy(all, staging.memory, bytes * size_t(held->ranks)) ||
        stream_synchronize(held->device, staging.stream))
        return INFINI_STATUS_INTERNAL_ERROR;
    std::string reason;
    const infiniStatus_t status = held->state(&reason);
    return status == INFINI_STATUS_SUCCESS ? status : refuse(status, reason);
}

}  // namespace infini::cuda::collectives
