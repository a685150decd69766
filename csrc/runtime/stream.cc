#include "stream.h"

#include <algorithm>

#include "capture.h"
#include "impl.h"
#include "pool.h"

namespace infini::rt {

uint64_t Clock::at(uint64_t stream) const {
    for (const auto &[number, position] : entries_)
        if (number == stream) return position;
    return 0;
}

void Clock::advance(uint64_t stream, uint64_t position) {
    for (auto &entry : entries_) {
        if (entry.first != stream) continue;
        entry.second = std::max(entry.second, position);
        return;
    }
    entries_.emplace_back(stream, position);
}

void Clock::merge(const Clock &other) {
    for (const auto &[stream, position] : other.entries_) advance(stream, position);
}

namespace {

std::atomic<uint64_t> next_stream_number{1};

}  // namespace

Stream::Stream(Device &device, void *driver, unsigned flags, int priority, bool legacy)
    : device(device),
      driver(driver),
      flags(flags),
      priority(priority),
      legacy(legacy),
      number(next_stream_number.fetch_add(1, std::memory_order_relaxed)) {}

bool ordered_after(Stream &stream, uint64_t number, uint64_t position) {
    if (stream.number == number) return true;
    if (!stream.has_clock.load(std::memory_order_acquire)) return false;
    std::lock_guard lock(stream.clock_mutex());
    return stream.clock.at(number) >= position;
}

void HostCall::run(void *self) {
    auto *call = static_cast<HostCall *>(self);
    Thread &thread = Thread::current();
    ++thread.host_function_depth;
    call->function(call->data);
    --thread.host_function_depth;
}

void HostCall::run_once(void *self) {
    run(self);
    delete static_cast<HostCall *>(self);
}

Error submit_now(Call &call, Stream &stream, const InfiniWork *work, size_t count) {
    Error error = stream.device.driver().submit(stream.device.index, stream.driver, work, count);
    // Counted once it is in the stream, so that a reader of the count can rely on the work before
    // it.
    stream.position.fetch_add(1, std::memory_order_relaxed);
    if (error == infinirtSuccess) [[likely]]
        return error;
    return call.driver(error, "the device did not take the work");
}

Error submit(Call &call, Stream &stream, const InfiniWork &work) {
    if (captures_in_progress.load(std::memory_order_acquire)) [[unlikely]] {
        if (stream.capture.load(std::memory_order_acquire)) return capture_work(call, stream, work);
        if (stream.legacy)
            if (Error error = check_legacy_use(call, stream.device)) return error;
    }
    if (work.kind != INFINI_WORK_HOST) return submit_now(call, stream, &work, 1);

    auto *wrapped = new HostCall{work.as.host.function, work.as.host.data};
    InfiniWork host = work;
    host.as.host = {HostCall::run_once, wrapped};
    Error error = submit_now(call, stream, &host, 1);
    if (error != infinirtSuccess) delete wrapped;
    return error;
}

Error synchronize(Call &call, Stream &stream) {
    if (Error error = check_not_captured(call, stream)) return error;
    Error error = stream.device.driver().stream_synchronize(stream.device.index, stream.driver);
    if (error != infinirtSuccess) return call.driver(error, "waiting for the stream");
    release_unused(stream.device);
    return error;
}

Error synchronize(Call &call, Device &device) {
    if (Error error = check_device_not_captured(call, device)) return error;
    Error error = device.driver().device_synchronize(device.index);
    if (error != infinirtSuccess) return call.driver(error, "waiting for the device");
    release_unused(device);
    return error;
}

namespace impl {

Error StreamCreate(Call &call, infinirtStream_t *pStream) {
    return StreamCreateWithPriority(call, pStream, infinirtStreamDefault, 0);
}

Error StreamCreateWithFlags(Call &call, infinirtStream_t *pStream, unsigned int flags) {
    return StreamCreateWithPriority(call, pStream, flags, 0);
}

Error StreamCreateWithPriority(Call &call, infinirtStream_t *pStream, unsigned int flags,
                               int priority) {
    if (flags & ~infinirtStreamNonBlocking)
        return call.invalid(
            "flags is 0x%x: expected infinirtStreamDefault or infinirtStreamNonBlocking", flags);
    Device &device = call.device();
    // Out of range is not an error: CUDA uses the nearest valid priority.
    priority = std::clamp(priority, std::min(device.info.greatest_priority, 0),
                          std::max(device.info.least_priority, 0));
    void *driver = nullptr;
    Error error = device.driver().stream_create(device.index, flags, priority, &driver);
    if (error != infinirtSuccess) return call.driver(error, "the device did not make a stream");
    Stream *stream = StreamTable::get().make(device, driver, flags, priority);
    if (!stream) {
        device.driver().stream_destroy(device.index, driver);
        return call.fail(infinirtErrorMemoryAllocation, "too many streams");
    }
    *pStream = handle_of(stream);
    return infinirtSuccess;
}

Error StreamDestroy(Call &call, Stream &stream) {
    if (stream.legacy || stream.per_thread)
        return call.fail(infinirtErrorInvalidResourceHandle,
                         "argument 1 (stream) is a default stream: only created streams can be "
                         "destroyed");
    forget_stream(stream);
    Error error = stream.device.driver().stream_destroy(stream.device.index, stream.driver);
    StreamTable::get().destroy(&stream);
    return call.driver(error, "destroying the stream");
}

Error StreamGetPriority(Call &, Stream &stream, int *priority) {
    *priority = stream.priority;
    return infinirtSuccess;
}

Error StreamGetFlags(Call &, Stream &stream, unsigned int *flags) {
    *flags = stream.flags;
    return infinirtSuccess;
}

Error StreamGetId(Call &, Stream &stream, unsigned long long *streamId) {
    *streamId = stream.number;
    return infinirtSuccess;
}

Error StreamGetDevice(Call &, Stream &stream, int *device) {
    *device = stream.device.index;
    return infinirtSuccess;
}

Error StreamSynchronize(Call &call, Stream &stream) { return synchronize(call, stream); }

Error StreamQuery(Call &call, Stream &stream) {
    if (Error error = check_not_captured(call, stream)) return error;
    Error error = stream.device.driver().stream_query(stream.device.index, stream.driver);
    return call.driver(error, "asking about the stream");
}

// The attributes that are meaningful without device code: priority (read only, as in CUDA) and how
// to wait.
Error StreamGetAttribute(Call &call, Stream &stream, infinirtLaunchAttributeID attr,
                         infinirtLaunchAttributeValue *value_out) {
    switch (attr) {
        case infinirtLaunchAttributePriority:
            value_out->priority = stream.priority;
            break;
        case infinirtLaunchAttributeSynchronizationPolicy:
            value_out->syncPolicy = static_cast<infinirtSynchronizationPolicy>(
                stream.synchronization_policy.load(std::memory_order_relaxed));
            break;
        case infinirtLaunchAttributeAccessPolicyWindow:
            value_out->accessPolicyWindow = {};
            break;
        default:
            return call.invalid(
                "attr is %d: expected priority, synchronization policy or access policy window",
                attr);
    }
    return infinirtSuccess;
}

Error StreamSetAttribute(Call &call, Stream &stream, infinirtLaunchAttributeID attr,
                         const infinirtLaunchAttributeValue *value) {
    switch (attr) {
        case infinirtLaunchAttributeSynchronizationPolicy:
            if (value->syncPolicy < infinirtSyncPolicyAuto ||
                value->syncPolicy > infinirtSyncPolicyBlockingSync)
                return call.invalid("value.syncPolicy is %d: expected 1 to 4", value->syncPolicy);
            stream.synchronization_policy.store(value->syncPolicy, std::memory_order_relaxed);
            return infinirtSuccess;
        case infinirtLaunchAttributeAccessPolicyWindow:
            return infinirtSuccess;  // a hint
        default:
            return call.invalid(
                "attr is %d: expected synchronization policy or access policy window; a stream's "
                "priority is set when it is made",
                attr);
    }
}

Error StreamCopyAttributes(Call &, Stream &dst, Stream &src) {
    dst.synchronization_policy.store(src.synchronization_policy.load(std::memory_order_relaxed),
                                     std::memory_order_relaxed);
    return infinirtSuccess;
}

Error CtxResetPersistingL2Cache(Call &) { return infinirtSuccess; }

Error LaunchHostFunc(Call &call, Stream &stream, infinirtHostFn_t fn, void *userData) {
    if (!fn) return call.invalid("argument 2 (fn) is null: expected a function");
    InfiniWork work;
    work.kind = INFINI_WORK_HOST;
    work.as.host = {fn, userData};
    return submit(call, stream, work);
}

namespace {

struct Callback {
    infinirtStreamCallback_t function;
    infinirtStream_t stream;
    void *data;
    static void run(void *self) {
        auto *callback = static_cast<Callback *>(self);
        callback->function(callback->stream, infinirtSuccess, callback->data);
        delete callback;
    }
};

}  // namespace

Error StreamAddCallback(Call &call, Stream &stream, infinirtStreamCallback_t callback,
                        void *userData, unsigned int flags) {
    if (!callback) return call.invalid("argument 2 (callback) is null: expected a function");
    if (flags != 0) return call.invalid("flags is 0x%x: expected 0", flags);
    if (stream.capture.load(std::memory_order_acquire))
        return refuse_in_capture(call, stream,
                                 "callbacks cannot be captured: use infinirtLaunchHostFunc");
    InfiniWork work;
    work.kind = INFINI_WORK_HOST;
    auto *data = new Callback{callback, stream.legacy ? nullptr : handle_of(&stream), userData};
    work.as.host = {Callback::run, data};
    Error error = submit(call, stream, work);
    if (error != infinirtSuccess) delete data;
    return error;
}

}  // namespace impl
}  // namespace infini::rt
