#include "stream.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

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

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

Item bare(InfiniWorkKind kind, RecordPointer record) {
    InfiniWork work{};
    work.kind = kind;
    return {work, std::move(record), nullptr, {}, {}, nullptr};
}

// Of records that the vendor can answer for.
bool has_event_queries() { return has(Word::kEventQuery); }
bool has_event_times() { return has(Word::kEventElapsedTime); }

}  // namespace

// ---- Records ------------------------------------------------------------------------------------

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
    if (known == kSubmitted || !has_event_queries()) return infinirtErrorNotReady;
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

// ---- One stream ---------------------------------------------------------------------------------

Error Stream::create() {
    OnDevice here(device.number);
    Values values;
    values.out = &handle;
    return check(Word::kStreamCreate, values);
}

bool Stream::is_direct(const Item &item) const {
    const InfiniWork &work = item.work;
    switch (work.kind) {
        case INFINI_WORK_COPY: {
            const InfiniCopy &copy = work.as.copy;
            const bool peers =
                copy.dst_device >= 0 && copy.src_device >= 0 && copy.dst_device != copy.src_device;
            if (peers) return false;
            if (!has(Word::kMemcpyAsync) || (copy.dst_device < 0 && copy.src_device < 0))
                return false;
            auto extent = [&](size_t pitch, size_t slice) {
                return (copy.depth - 1) * slice + (copy.height - 1) * pitch + copy.width;
            };
            return (copy.dst_device >= 0 ||
                    is_pinned(copy.dst, extent(copy.dst_pitch, copy.dst_slice))) &&
                   (copy.src_device >= 0 ||
                    is_pinned(copy.src, extent(copy.src_pitch, copy.src_slice)));
        }
        case INFINI_WORK_FILL:
            return work.as.fill.element == 1 && has(Word::kMemsetAsync) &&
                   is_on_device(work.as.fill.dst);
        case INFINI_WORK_RECORD:
            return has_event_queries() && (has_event_times() || !item.record->timed);
        case INFINI_WORK_WAIT:
            return !item.record || item.record->state() == Record::kDone ||
                   (item.record->state() == Record::kIssued && &item.record->device == &device);
        case INFINI_WORK_KERNEL:
            return bool(item.plan->library);
        default:
            return false;
    }
}

Error Stream::issue(const Item &item) {
    Values values;
    values.stream = handle;
    const InfiniWork &work = item.work;
    if (work.kind == INFINI_WORK_COPY) {
        const InfiniCopy &copy = work.as.copy;
        values.direction = copy.dst_device < 0   ? vendor.directions.device_to_host
                           : copy.src_device < 0 ? vendor.directions.host_to_device
                                                 : vendor.directions.device_to_device;
        const bool lines =
            (copy.height > 1 && (copy.dst_pitch != copy.width || copy.src_pitch != copy.width)) ||
            copy.depth > 1;
        values.bytes = lines ? copy.width : copy.width * copy.height;
        for (size_t z = 0; z < copy.depth; ++z)
            for (size_t y = 0; y < (lines ? copy.height : 1); ++y) {
                values.dst =
                    static_cast<char *>(copy.dst) + z * copy.dst_slice + y * copy.dst_pitch;
                values.src =
                    static_cast<const char *>(copy.src) + z * copy.src_slice + y * copy.src_pitch;
                if (Error error = check(Word::kMemcpyAsync, values)) return error;
            }
    } else if (work.kind == INFINI_WORK_FILL) {
        const InfiniFill &fill = work.as.fill;
        values.bytes = fill.width;
        values.value = int(fill.value & 0xff);
        for (size_t z = 0; z < fill.depth; ++z)
            for (size_t y = 0; y < fill.height; ++y) {
                values.dst = static_cast<char *>(fill.dst) + z * fill.slice + y * fill.pitch;
                if (Error error = check(Word::kMemsetAsync, values)) return error;
            }
    } else if (work.kind == INFINI_WORK_RECORD) {
        item.record->handle = values.event = device.take_event(item.record->timed);
        if (!values.event) return infinirtErrorMemoryAllocation;
        if (Error error = check(Word::kEventRecord, values)) return error;
        item.record->reach(Record::kIssued);
    } else if (work.kind == INFINI_WORK_WAIT) {
        if (!item.record || item.record->state() == Record::kDone) return infinirtSuccess;
        values.event = item.record->handle;
        return check(Word::kStreamWaitEvent, values);
    } else if (work.kind == INFINI_WORK_KERNEL) {
        const InfiniArguments arguments{item.pointers.data(), item.scalars.data(),
                                        item.pointers.size(), item.scalars.size(), item.workspace};
        const char *called = "";
        if (int code = item.plan->library->run(handle, {arguments}, &called))
            return fail_call(code, called);
    }
    return infinirtSuccess;
}

Error Stream::wait_for_vendor() {
    Values values;
    values.stream = handle;
    return check(Word::kStreamSynchronize, values);
}

Error Stream::perform(const Item &item) {
    OnDevice here(device.number);
    const InfiniWork &work = item.work;
    if (work.kind == INFINI_WORK_WAIT && item.record) {
        item.record->wait_issued();
        // Not every vendor's streams wait for events of other devices.
        if (&item.record->device != &device) return item.record->wait_done();
    }
    if (is_direct(item)) return issue(item);
    if (Error error = wait_for_vendor()) return error;
    if (work.kind == INFINI_WORK_HOST) {
        work.as.host.function(work.as.host.data);
    } else if (work.kind == INFINI_WORK_COPY) {
        return copy_now(work.as.copy);
    } else if (work.kind == INFINI_WORK_RECORD) {
        item.record->seconds = now();
        item.record->reach(Record::kDone);
    } else if (work.kind == INFINI_WORK_KERNEL) {
        return item.plan->run_on_host(item.pointers.data(), item.pointers.size(),
                                      item.scalars.data(), item.scalars.size());
    } else if (work.kind == INFINI_WORK_FILL) {
        const InfiniFill &fill = work.as.fill;
        const int where = is_on_device(fill.dst) ? device.number : -1;
        std::vector<char> row(fill.width * fill.element);
        for (size_t i = 0; i < row.size(); ++i)
            row[i] = char(fill.value >> (8 * (i % fill.element)));
        for (size_t z = 0; z < fill.depth; ++z)
            for (size_t y = 0; y < fill.height; ++y)
                if (Error error =
                        copy_bytes(static_cast<char *>(fill.dst) + z * fill.slice + y * fill.pitch,
                                   where, row.data(), -1, row.size()))
                    return error;
    }
    return infinirtSuccess;
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
        // Whoever waits for the record must not wait for ever.
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
            // Its worker waits for the vendor, and takes it off the list.
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
    // Without such a function: an event behind all of its work knows.
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

// ---- All streams of a device --------------------------------------------------------------------

Device &device_of(int number) {
    static std::mutex lock;
    static auto &all = *new std::vector<std::unique_ptr<Device>>;
    std::lock_guard guard(lock);
    while (int(all.size()) <= number) {
        all.push_back(std::make_unique<Device>());
        all.back()->number = int(all.size()) - 1;
    }
    return *all[size_t(number)];
}

StreamPointer Device::find(void *handle) {
    if (handle) return *static_cast<StreamPointer *>(handle);
    std::lock_guard guard(lock);
    if (!legacy) {
        auto made = std::make_shared<Stream>(*this, true);
        if (made->create() != infinirtSuccess) return nullptr;
        legacy = made;
    }
    return legacy;
}

void Device::order(const StreamPointer &stream) {
    if (stream == legacy) {
        for (const StreamPointer &other : streams) {
            if (!other->blocking || !other->dirty) continue;
            other->dirty = false;
            RecordPointer mark = other->last_record;
            if (!mark) {
                mark = std::make_shared<Record>(*this, false);
                other->enqueue(bare(INFINI_WORK_RECORD, mark));
            }
            stream->enqueue(bare(INFINI_WORK_WAIT, mark));
        }
        ++legacy_submissions;
        legacy_record = nullptr;
    } else if (stream->blocking) {
        stream->dirty = true;
        if (!legacy || stream->seen_legacy == legacy_submissions) return;
        stream->seen_legacy = legacy_submissions;
        if (!legacy_record) {
            legacy_record = std::make_shared<Record>(*this, false);
            legacy->enqueue(bare(INFINI_WORK_RECORD, legacy_record));
        }
        stream->enqueue(bare(INFINI_WORK_WAIT, legacy_record));
    }
}

Error Device::submit(const StreamPointer &stream, const InfiniWork *work, size_t count) {
    OnDevice here(number);
    std::lock_guard guard(lock);
    if (Error error = stream->take_failure()) return error;
    order(stream);
    for (size_t i = 0; i < count; ++i) {
        Item item{work[i], nullptr, nullptr, {}, {}, nullptr};
        if (work[i].kind == INFINI_WORK_RECORD) {
            auto &event = *static_cast<Event *>(work[i].as.event);
            item.record = std::make_shared<Record>(*this, event.timed);
            std::lock_guard event_guard(event.lock);
            event.last = item.record;
        } else if (work[i].kind == INFINI_WORK_WAIT) {
            item.record = static_cast<Event *>(work[i].as.event)->get();
        } else if (work[i].kind == INFINI_WORK_KERNEL) {
            const InfiniArguments &given = *work[i].as.kernel.arguments;
            item.plan = hold(work[i].as.kernel.plan);
            item.pointers.assign(given.pointers, given.pointers + given.pointer_count);
            item.scalars.assign(given.scalars, given.scalars + given.scalar_count);
            item.workspace = given.workspace;
        } else if (work[i].kind > INFINI_WORK_KERNEL) {
            return explain(infinirtErrorNotSupported,
                           "this back end is older than a kind of work that was submitted");
        }
        stream->enqueue(std::move(item));
    }
    // A call that the vendor refused right now is this call's error.
    return stream->accepted == stream->performed ? stream->take_failure() : infinirtSuccess;
}

}  // namespace infini::vendor_runtime
