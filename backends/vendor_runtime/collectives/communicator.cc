#include "communicator.h"

#include <chrono>
#include <map>
#include <thread>

#include "look_up.h"

namespace infini::vendor_runtime::collectives {
namespace {

using Clock = std::chrono::steady_clock;

// Device memory for the duration of a call.
struct Staging {
    Staging(int device, size_t bytes) : device(device) {
        if (device_allocate(device, bytes, &memory) != infinirtSuccess) memory = nullptr;
    }
    Staging(Staging &&other) noexcept
        : device(other.device), memory(std::exchange(other.memory, nullptr)) {}
    ~Staging() {
        if (memory) device_release(device, memory);
    }
    int device;
    void *memory = nullptr;
};

bool reduces(int kind) {
    return kind == INFINI_ALL_REDUCE || kind == INFINI_REDUCE || kind == INFINI_REDUCE_SCATTER;
}

bool is_message(int kind) { return kind == INFINI_SEND || kind == INFINI_RECEIVE; }

// Types and operations without a library enumerator are gathered, and combined on the host.
bool must_be_gathered(const InfiniCollective &work) {
    return reduces(work.kind) && (type_number(work.dtype) == kNone || op_number(work.op) == kNone);
}

Word word_of(int kind) {
    static constexpr std::pair<int, Word> kWords[] = {{INFINI_ALL_REDUCE, Word::kAllReduce},
                                                      {INFINI_REDUCE, Word::kReduce},
                                                      {INFINI_BROADCAST, Word::kBroadcast},
                                                      {INFINI_ALL_GATHER, Word::kAllGather},
                                                      {INFINI_REDUCE_SCATTER, Word::kReduceScatter},
                                                      {INFINI_SEND, Word::kSend},
                                                      {INFINI_RECEIVE, Word::kRecv}};
    return look_up(kWords, kind, Word::kCount);
}

size_t bytes_of(const InfiniCollective &work) {
    return work.count * infiniSizeOf(infiniDtype_t(work.dtype));
}

std::string described(const InfiniCollective &work, size_t count) {
    constexpr const char *kWords[] = {"",          "AllReduce",     "Reduce", "Broadcast",
                                      "AllGather", "ReduceScatter", "Gather", "Scatter",
                                      "AllToAll",  "Send",          "Recv"};
    std::string text =
        std::string(kWords[work.kind]) + " of " + std::to_string(work.count) + " elements";
    return count > 1 ? text + " and " + std::to_string(count - 1) + " more" : text;
}

}  // namespace

infiniStatus_t refuse(infiniStatus_t status, const std::string &sentence) {
    explain(infinirtErrorUnknown, sentence);
    return status;
}

std::string words(int code, Word word) {
    const auto text = vendor.collectives->error_text;
    const char *said = text ? text(code) : nullptr;
    return std::string(name_of(word)) + " returned " + std::to_string(code) +
           (said && *said ? std::string(": ") + said : "");
}

// ---- Ranks of one process -----------------------------------------------------------------------

std::shared_ptr<World> World::of(uint64_t nonce) {
    static std::mutex lock;
    static auto &known = *new std::map<uint64_t, std::weak_ptr<World>>;
    std::lock_guard guard(lock);
    std::erase_if(known, [](const auto &entry) { return entry.second.expired(); });
    std::weak_ptr<World> &at = known[nonce];
    std::shared_ptr<World> world = at.lock();
    if (!world) at = world = std::make_shared<World>();
    return world;
}

std::vector<CommunicatorPointer> World::all() {
    std::lock_guard guard(lock);
    std::vector<CommunicatorPointer> alive;
    for (const auto &weak : ranks)
        if (auto communicator = weak.lock()) alive.push_back(std::move(communicator));
    return alive;
}

// ---- Failures -----------------------------------------------------------------------------------

void Communicator::fail(infiniStatus_t status, const std::string &sentence) {
    std::lock_guard guard(lock_);
    if (failure_ != INFINI_STATUS_SUCCESS) return;
    failure_ = status;
    reason_ = sentence;
    broken_ = true;
}

infiniStatus_t Communicator::state(std::string *reason) {
    std::lock_guard guard(lock_);
    *reason = reason_;
    return failure_;
}

infiniStatus_t Communicator::failed_call(int code, Word word) {
    const std::string sentence = "rank " + std::to_string(rank) + ": " + words(code, word);
    for (const CommunicatorPointer &each : world->all())
        each->fail(INFINI_STATUS_INTERNAL_ERROR, sentence);
    return refuse(INFINI_STATUS_INTERNAL_ERROR, sentence);
}

infiniStatus_t Communicator::failed_copy() {
    const std::string sentence = "rank " + std::to_string(rank) + ": " + last_sentence();
    fail(INFINI_STATUS_INTERNAL_ERROR, sentence);
    return INFINI_STATUS_INTERNAL_ERROR;
}

infiniStatus_t Communicator::settle() {
    OnDevice here(device);
    Values values;
    values.out = &stream_;
    return check(Word::kStreamCreate, values) == infinirtSuccess ? INFINI_STATUS_SUCCESS
                                                                 : INFINI_STATUS_INTERNAL_ERROR;
}

void Communicator::end() {
    OnDevice here(device);
    Values values;
    values.communicator = handle;
    values.stream = stream_;
    if (broken_ && !has(Word::kCommAbort)) return;  // the library may still use both
    if (handle) call(broken_ ? Word::kCommAbort : Word::kCommDestroy, values);
    if (stream_ && !broken_) call(Word::kStreamDestroy, values);  // else work is pending in it
    handle = stream_ = nullptr;
}

// ---- One group ----------------------------------------------------------------------------------

struct Communicator::Batch {
    std::vector<InfiniCollective> work;      // for the library, which may treat them as one
    std::vector<InfiniCollective> messages;  // the same
    std::vector<std::pair<InfiniCollective, Staging>> gathered;
};

infiniStatus_t Communicator::call_vendor(Word word, const InfiniCollective &work, Form form) {
    Values values;
    values.src = work.send;
    values.dst = word == Word::kSend ? const_cast<void *>(work.send) : work.recv;
    values.count = work.count * form.times;
    values.type = form.type;
    values.op = reduces(work.kind) ? op_number(work.op) : 0;
    values.root = work.root;
    values.communicator = handle;
    values.stream = stream_;
    const int code = call(word, values);
    return code ? failed_call(code, word) : INFINI_STATUS_SUCCESS;
}

// The messages of a group are one operation for the library: their order does not matter.
infiniStatus_t Communicator::send_and_receive(const std::vector<InfiniCollective> &messages) {
    if (!has(Word::kBatchSendRecv) || messages.size() < 2) {
        for (const InfiniCollective &each : messages)
            if (auto status = call_vendor(word_of(each.kind), each, moved(each.dtype)))
                return status;
        return INFINI_STATUS_SUCCESS;
    }
    struct Entry {
        int32_t receives;
        void *buffer;
        uint64_t count;
        int32_t type;
        uint32_t peer;
    };
    std::vector<Entry> entries;
    for (const InfiniCollective &each : messages) {
        const bool receives = each.kind == INFINI_RECEIVE;
        const Form form = moved(each.dtype);
        entries.push_back({receives, receives ? each.recv : const_cast<void *>(each.send),
                           each.count * form.times, form.type, uint32_t(each.root)});
    }
    Values values;
    values.src = entries.data();
    values.count = entries.size();
    values.communicator = handle;
    values.stream = stream_;
    const int code = call(Word::kBatchSendRecv, values);
    return code ? failed_call(code, Word::kBatchSendRecv) : INFINI_STATUS_SUCCESS;
}

infiniStatus_t Communicator::issue(Batch &batch) {
    const bool grouped = has(Word::kGroupStart) &&
                         batch.work.size() + batch.messages.size() + batch.gathered.size() > 1;
    if (int code = grouped ? call(Word::kGroupStart, {}) : 0)
        return failed_call(code, Word::kGroupStart);
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    for (const InfiniCollective &each : batch.work) {
        const Form form = reduces(each.kind) ? Form{type_number(each.dtype)} : moved(each.dtype);
        if (!status) status = call_vendor(word_of(each.kind), each, form);
    }
    for (auto &[work, staging] : batch.gathered) {
        InfiniCollective all = work;
        all.kind = INFINI_ALL_GATHER;
        all.recv = staging.memory;
        if (work.kind == INFINI_REDUCE_SCATTER) all.count *= size_t(ranks);
        if (!status) status = call_vendor(Word::kAllGather, all, moved(work.dtype));
    }
    if (!status) status = send_and_receive(batch.messages);
    // Also after a failure: the thread must leave the group.
    const int code = grouped ? call(Word::kGroupEnd, {}) : 0;
    return status || !code ? status : failed_call(code, Word::kGroupEnd);
}

infiniStatus_t Communicator::wait(const std::string &what) {
    const auto begun = Clock::now();
    Values values;
    values.stream = stream_;
    RecordPointer mark;
    if (!has(Word::kStreamQuery) && has(Word::kEventQuery)) {
        mark = std::make_shared<Record>(device_of(device), false);
        values.event = mark->handle = mark->device.take_event(false);
        if (int code = values.event ? call(Word::kEventRecord, values) : 0)
            return failed_call(code, Word::kEventRecord);
        if (!values.event) return failed_copy();
    }
    const bool can_ask = mark || has(Word::kStreamQuery);
    for (auto pause = std::chrono::microseconds(10); can_ask;) {
        const Error error = query(mark ? Word::kEventQuery : Word::kStreamQuery, values);
        if (error == infinirtSuccess) break;
        if (error != infinirtErrorNotReady) return failed_copy();
        const double most = timeout;
        const std::chrono::duration<double> passed = Clock::now() - begun;
        if (most > 0 && passed.count() > most) {
            char text[32];
            snprintf(text, sizeof text, "%g s", most);
            const std::string sentence =
                what + " of rank " + std::to_string(rank) + " was not done within " + text +
                ": another rank did not come, died, or called something else";
            for (const CommunicatorPointer &each : world->all())
                each->fail(INFINI_STATUS_INTERNAL_ERROR, sentence);
        }
        if (broken_) {
            if (mark) mark->handle = nullptr;  // the stream may still access it
            values.communicator = handle;
            if (has(Word::kCommAbort)) call(Word::kCommAbort, values), handle = nullptr;
            std::string reason;
            return refuse(state(&reason), reason);
        }
        std::this_thread::sleep_for(pause);
        pause = std::min(pause * 2, std::chrono::microseconds(1000));
    }
    // It also reports the result of the work.
    const int code = call(Word::kStreamSynchronize, values);
    return code ? failed_call(code, Word::kStreamSynchronize) : INFINI_STATUS_SUCCESS;
}

infiniStatus_t Communicator::run(const InfiniCollective *work, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (word_of(work[i].kind) == Word::kCount || work[i].send_counts || work[i].recv_counts)
            return INFINI_STATUS_NOT_IMPLEMENTED;
    std::lock_guard turn(turn_);
    OnDevice here(device);
    std::string reason;
    if (auto status = state(&reason)) return refuse(status, reason);
    Batch batch;
    std::vector<const InfiniCollective *> own_sends, own_receives;
    for (size_t i = 0; i < count; ++i) {
        const InfiniCollective &each = work[i];
        if (each.count == 0) continue;
        if (must_be_gathered(each)) {
            const size_t parts =
                size_t(ranks) * (each.kind == INFINI_REDUCE_SCATTER ? size_t(ranks) : 1);
            batch.gathered.emplace_back(each, Staging(device, bytes_of(each) * parts));
            if (!batch.gathered.back().second.memory) return failed_copy();
        } else if (is_message(each.kind) && each.root == rank) {
            (each.kind == INFINI_SEND ? own_sends : own_receives).push_back(&each);
        } else {
            (is_message(each.kind) ? batch.messages : batch.work).push_back(each);
        }
        if (each.kind == INFINI_BROADCAST && vendor.collectives->broadcast_in_place &&
            each.root == rank && each.send != each.recv)
            if (copy_bytes(each.recv, device, each.send, device, bytes_of(each)))
                return failed_copy();
    }
    // No library documents that a rank may send to itself.
    for (size_t i = 0; i < own_sends.size() && i < own_receives.size(); ++i)
        if (copy_bytes(own_receives[i]->recv, device, own_sends[i]->send, device,
                       bytes_of(*own_sends[i])))
            return failed_copy();
    if (batch.work.empty() && batch.messages.empty() && batch.gathered.empty())
        return INFINI_STATUS_SUCCESS;
    if (auto status = issue(batch)) return status;
    if (auto status = wait(described(work[0], count))) {
        for (auto &[each, staging] : batch.gathered) staging.memory = nullptr;  // maybe still used
        return status;
    }
    for (auto &[each, staging] : batch.gathered)
        if (auto status = combine(each, staging.memory)) return status;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t Communicator::share(const void *mine, void *all, size_t bytes) {
    Staging staging(device, bytes * size_t(ranks));
    if (!staging.memory) return INFINI_STATUS_INTERNAL_ERROR;
    char *part = static_cast<char *>(staging.memory) + bytes * size_t(rank);
    if (copy_bytes(part, device, mine, -1, bytes)) return failed_copy();
    InfiniCollective work{};
    work.kind = INFINI_ALL_GATHER;
    work.dtype = INFINI_DTYPE_BYTE;
    work.send = part;
    work.recv = staging.memory;
    work.count = bytes;
    if (auto status = run(&work, 1)) return status;
    return copy_bytes(all, -1, staging.memory, device, bytes * size_t(ranks))
               ? failed_copy()
               : INFINI_STATUS_SUCCESS;
}

}  // namespace infini::vendor_runtime::collectives
