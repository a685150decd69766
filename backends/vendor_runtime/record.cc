// Records of events, over the vendor's events.
#include "stream.h"

namespace infini::vendor_runtime {
namespace {

// Guards the states of all records: one lock, since streams of several devices wait for them.
std::mutex &record_lock() {
    static auto *lock = new std::mutex;
    return *lock;
}
std::condition_variable &record_changed() {
    static auto *changed = new std::condition_variable;
    return *changed;
}

}  // namespace

Record::~Record() {
    if (handle) device.give_event(handle, timed);
}

void Record::reach(State state) {
    {
        std::lock_guard guard(record_lock());
        state_ = state;
    }
    record_changed().notify_all();
}

Record::State Record::state() {
    std::lock_guard guard(record_lock());
    return state_;
}

void Record::wait_issued() {
    std::unique_lock guard(record_lock());
    record_changed().wait(guard, [&] { return state_ != kSubmitted; });
}

Error Record::wait_done() {
    wait_issued();
    if (state() == kDone) return infinirtSuccess;
    OnDevice here(device.number);
    Values values;
    values.event = handle;
    const Error error = check(Word::kEventSynchronize, values);
    if (error == infinirtSuccess) reach(kDone);
    return error;
}

Error Record::query() {
    const State known = state();
    if (known == kDone) return infinirtSuccess;
    if (known == kSubmitted || !has(Word::kEventQuery)) return infinirtErrorNotReady;
    OnDevice here(device.number);
    Values values;
    values.event = handle;
    const Error error = vendor_runtime::query(Word::kEventQuery, values);
    if (error == infinirtSuccess) reach(kDone);
    return error;
}

void *Device::take_event(bool timed) {
    {
        std::lock_guard guard(events_lock_);
        if (auto &spare = events_[timed]; !spare.empty()) {
            void *event = spare.back();
            spare.pop_back();
            return event;
        }
    }
    void *event = nullptr;
    Values values;
    values.out = &event;
    const Word word =
        timed || !has(Word::kEventCreateUntimed) ? Word::kEventCreate : Word::kEventCreateUntimed;
    return check(word, values) == infinirtSuccess ? event : nullptr;
}

void Device::give_event(void *event, bool timed) {
    std::lock_guard guard(events_lock_);
    events_[timed].push_back(event);
}

}  // namespace infini::vendor_runtime
