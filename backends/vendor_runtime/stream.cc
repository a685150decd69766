// A stream: what it has deferred, its worker, and waiting for it.
#include "stream.h"

#include <algorithm>
#include <thread>

namespace infini::vendor_runtime {

Item bare(InfiniWorkKind kind, RecordPointer record) {
    InfiniWork work{};
    work.kind = kind;
    return {work, std::move(record), nullptr, {}, {}, nullptr};
}

Error Stream::create() {
    OnDevice here(device.number);
    Values values;
    values.out = &handle;
    return check(Word::kStreamCreate, values);
}

void Stream::note(Error error) {
    if (error == infinirtSuccess || failure != infinirtSuccess) return;
    failure = error;
    reason = last_sentence();
}

Error Stream::take_failure() {
    const Error error = failure;
    if (error == infinirtSuccess) return error;
    failure = infinirtSuccess;
    return explain(error, reason);
}

void Stream::enqueue(Item item) {
    idle = false;
    asked = nullptr;
    ++submitted;
    if (accepted == performed && is_direct(item)) {
        const Error error = issue(item);
        // Waiters for the record must not block forever.
        if (error != infinirtSuccess && item.work.kind == INFINI_WORK_RECORD)
            item.record->reach(Record::kDone);
        note(error);
        return;
    }
    deferred.push_back(std::move(item));
    ++accepted;
    start_worker();
}

void Stream::start_worker() {
    if (!has_worker) {
        has_worker = true;
        std::thread([self = shared_from_this()] { self->work(); }).detach();
    }
    device.changed.notify_all();
}

void Stream::work() {
    std::unique_lock lock(device.lock);
    for (;;) {
        device.changed.wait(lock, [&] { return !deferred.empty() || ending; });
        if (deferred.empty() && users == 0) break;
        if (deferred.empty()) {
            device.changed.wait(lock);
            continue;
        }
        Item item = std::move(deferred.front());
        deferred.pop_front();
        lock.unlock();
        const Error error = perform(item);
        if (error != infinirtSuccess && item.work.kind == INFINI_WORK_RECORD)
            item.record->reach(Record::kDone);
        lock.lock();
        note(error);
        lock.unlock();
        item = {};  // a plan or a record may be the last of its kind
        lock.lock();
        ++performed;
        device.changed.notify_all();
    }
    lock.unlock();
    {
        OnDevice here(device.number);
        wait_for_vendor();
        Values values;
        values.stream = handle;
        check(Word::kStreamDestroy, values);
    }
    lock.lock();
    std::erase(device.streams, shared_from_this());
    device.changed.notify_all();
}

Error Stream::synchronize() {
    uint64_t before = 0;
    {
        std::unique_lock lock(device.lock);
        const uint64_t until = accepted;
        device.changed.wait(lock, [&] { return performed >= until; });
        if (Error error = take_failure()) return error;
        if (idle) return infinirtSuccess;
        if (ending && deferred.empty()) {
            // Its worker waits for the vendor, and removes it from the list.
            device.changed.wait(lock, [&] {
                return std::find(device.streams.begin(), device.streams.end(),
                                 shared_from_this()) == device.streams.end();
            });
            return infinirtSuccess;
        }
        ++users;
        before = submitted;
    }
    OnDevice here(device.number);
    const Error error = wait_for_vendor();
    std::lock_guard guard(device.lock);
    --users;
    if (error == infinirtSuccess && submitted == before) idle = true;
    device.changed.notify_all();
    return error;
}

Error Stream::query() {
    std::unique_lock lock(device.lock);
    if (performed < accepted) return infinirtErrorNotReady;
    if (Error error = take_failure()) return error;
    if (idle) return infinirtSuccess;
    if (ending) return infinirtErrorNotReady;
    OnDevice here(device.number);
    Values values;
    values.stream = handle;
    if (has(Word::kStreamQuery)) return vendor_runtime::query(Word::kStreamQuery, values);
    // Without such a function: an event after all of its work is queried.
    if (!asked) {
        auto mark = std::make_shared<Record>(device, false);
        enqueue(bare(INFINI_WORK_RECORD, mark));
        asked = mark;
    }
    const RecordPointer mark = asked;
    lock.unlock();
    return mark->query();
}

void Stream::end() {
    std::lock_guard guard(device.lock);
    if (blocking && dirty) {
        OnDevice here(device.number);
        last_record = std::make_shared<Record>(device, false);
        enqueue(bare(INFINI_WORK_RECORD, last_record));
    }
    ending = true;
    start_worker();
}

}  // namespace infini::vendor_runtime
