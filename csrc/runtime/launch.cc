// Services for the other libraries of the core: devices, launches, messages. See base/launch.h and
// base/runtime_services.h.
#include "launch.h"

#include "capture.h"
#include "first_generation.h"
#include "infini/ext.h"
#include "memory.h"
#include "runtime_services.h"
#include "stream.h"

namespace infini::rt {
namespace {

infiniStatus_t fail(const char *function, infiniStatus_t status, const std::string &sentence) {
    record_error(Thread::current(), infinirtErrorInvalidValue,
                 std::string(function) + ": " + sentence);
    return status;
}

// An entry point caught an exception. The message is dropped if there is no memory for it either.
infiniStatus_t no_host_memory(const char *function) noexcept {
    try {
        record_error(Thread::current(), infinirtErrorMemoryAllocation,
                     std::string(function) + ": host memory ran out");
    } catch (...) {
        Call::caught(Function::LaunchKernel);
    }
    return INFINI_STATUS_INTERNAL_ERROR;
}

// The runtime's own message, attributed to the client's call.
infiniStatus_t failed(const char *function, Error error) {
    std::string sentence = infiniGetLastErrorMessage();
    size_t colon = sentence.find(": ");
    if (colon != std::string::npos) sentence.erase(0, colon + 2);
    record_error(Thread::current(), error, std::string(function) + ": " + sentence);
    infiniStatus_t status = first::status_of(error);
    // Errors of the runtime here (captures, calls from host functions) are the client's mistakes.
    bool no_memory = error == infinirtErrorMemoryAllocation;
    return status == INFINI_STATUS_INTERNAL_ERROR && !no_memory ? INFINI_STATUS_BAD_PARAM : status;
}

// The stream, or null with *status saying why not; success: it is the back end's own.
Stream *stream_of(Call &call, const char *function, const InfiniTarget &target, void *handle,
                  infiniStatus_t *status) {
    Device &device = *static_cast<Device *>(target.device);
    if (call.thread.host_function_depth != 0 && !call.ready()) [[unlikely]] {
        *status = failed(function, call.error());
        return nullptr;
    }
    if (!handle) return device.legacy.get();
    auto client = static_cast<infinirtStream_t>(handle);
    if (client == infinirtStreamLegacy) return device.legacy.get();
    // Streams that a back end creates itself are not in the table.
    bool own = device.backend.own_handles;
    Stream *stream = client == infinirtStreamPerThread && !own ? thread_stream(call, device)
                                                               : StreamTable::get().find(handle);
    if (!stream) {
        if (own) return nullptr;
        *status = fail(function, INFINI_STATUS_BAD_PARAM,
                       "stream is no live stream: expected one from infinirtStreamCreate that was "
                       "not destroyed");
        return nullptr;
    }
    if (&stream->device == &device) [[likely]]
        return stream;
    *status =
        fail(function, INFINI_STATUS_BAD_PARAM,
             "stream belongs to " + stream->device.backend.name + " device " +
                 std::to_string(stream->device.index) + ": expected one of " + target.kind +
                 " device " + std::to_string(target.index) + ", for which the descriptor was made");
    return nullptr;
}

// A stream of the back end's own: it knows by itself whether the stream is being captured.
Error submit_raw(Call &call, const InfiniTarget &target, void *stream, const InfiniWork &work) {
    const InfiniDriver &driver = static_cast<Device *>(target.device)->driver();
    Error error = driver.submit(target.index, stream, &work, 1);
    if (error == infinirtSuccess) [[likely]]
        return error;
    return call.driver(error, "the device did not take the work");
}

Error synchronize_raw(Call &call, const InfiniTarget &target, void *stream) {
    const InfiniDriver &driver = static_cast<Device *>(target.device)->driver();
    return call.driver(driver.stream_synchronize(target.index, stream), "waiting for the stream");
}

// Work of another library, with the function that frees its data.
struct OwnedCall {
    void (*run)(void *);
    void (*dispose)(void *);
    void *data;

    ~OwnedCall() { dispose(data); }
    static void call(void *self) {
        auto *owned = static_cast<OwnedCall *>(self);
        owned->run(owned->data);
    }
    static void call_once(void *self) {
        call(self);
        delete static_cast<OwnedCall *>(self);
    }
};

InfiniTarget target_of(Device &device) {
    return {device.backend.operators, device.backend.name.c_str(), device.backend.kind,
            device.index, &device};
}

}  // namespace
}  // namespace infini::rt

using namespace infini::rt;

extern "C" {

infiniStatus_t infiniTargetOfThread(const char *function, InfiniTarget *target) try {
    first::enter();
    Thread &thread = Thread::current();
    if (!thread.device) {
        Call call(Function::LaunchKernel);
        if (!call.ready()) return failed(function, call.error());
    }
    *target = target_of(*thread.device);
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return no_host_memory(function);
}

infiniStatus_t infiniLaunchKernel(const char *function, const InfiniTarget *target, void *handle,
                                  const InfiniKernel *kernel) try {
    Call call(Function::LaunchKernel);
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    Stream *stream = stream_of(call, function, *target, handle, &status);
    if (!stream && status != INFINI_STATUS_SUCCESS) return status;
    InfiniWork work;
    work.kind = INFINI_WORK_KERNEL;
    work.as.kernel = *kernel;
    Error error = stream ? submit(call, *stream, work) : submit_raw(call, *target, handle, work);
    if (error == infinirtSuccess) [[likely]]
        return INFINI_STATUS_SUCCESS;
    return failed(function, error);
} catch (...) {
    return no_host_memory(function);
}

infiniStatus_t infiniWaitForStream(const char *function, const InfiniTarget *target,
                                   void *handle) try {
    Call call(Function::StreamSynchronize);
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    Stream *stream = stream_of(call, function, *target, handle, &status);
    if (!stream && status != INFINI_STATUS_SUCCESS) return status;
    Error error =
        call.waited(stream ? synchronize(call, *stream) : synchronize_raw(call, *target, handle));
    return error == infinirtSuccess ? INFINI_STATUS_SUCCESS : failed(function, error);
} catch (...) {
    return no_host_memory(function);
}

infiniStatus_t infiniRecordFailure(const char *function, infiniStatus_t status,
                                   const char *sentence) try {
    Thread &thread = Thread::current();
    std::string said = sentence ? sentence : thread.explanation;
    thread.explanation.clear();
    return fail(function, status, said.empty() ? "it failed for no known reason" : said);
} catch (...) {
    Call::caught(Function::LaunchKernel);
    return status;
}

int infiniIsHostMemory(const void *pointer, size_t bytes, int write) try {
    MemoryCache &memory = Thread::current().memory;
    return memory.knows_pages(pointer, bytes, write) || probe_host(memory, pointer, bytes, write);
} catch (...) {
    return 0;
}

// ---- base/runtime_services.h -----------------------------------------------------------------------------

infiniStatus_t infiniTargetOf(const char *function, infiniDevice_t kind, int index,
                              InfiniTarget *target) try {
    first::enter();
    Backend *backend = find_backend(kind);
    const int count = backend ? int(backend->devices.size()) : 0;
    if (index < 0 || index >= count)
        return fail(function, INFINI_STATUS_DEVICE_NOT_FOUND,
                    "there is no device " + std::to_string(index) + " of that kind: there are " +
                        std::to_string(count));
    *target = target_of(*backend->devices[size_t(index)]);
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return no_host_memory(function);
}

const char *infiniLibraryOf(const InfiniTarget *target) {
    return static_cast<Device *>(target->device)->backend.path.c_str();
}

infiniStatus_t infiniLaunchHost(const char *function, const InfiniTarget *target, void *handle,
                                void (*run)(void *), void (*dispose)(void *), void *data,
                                int *recorded) try {
    std::unique_ptr<OwnedCall> owned(new OwnedCall{run, dispose, data});
    Call call(Function::LaunchHostFunc);
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    Stream *stream = stream_of(call, function, *target, handle, &status);
    if (!stream && status != INFINI_STATUS_SUCCESS) return status;
    *recorded = stream && stream->capture.load(std::memory_order_acquire);
    Error error;
    if (*recorded) {
        std::shared_ptr<OwnedCall> shared = std::move(owned);
        auto host = std::shared_ptr<HostCall>(new HostCall{OwnedCall::call, shared.get()},
                                              [shared](HostCall *call) { delete call; });
        error = capture_host(call, *stream, std::move(host));
    } else {
        InfiniWork work;
        work.kind = INFINI_WORK_HOST;
        work.as.host = {OwnedCall::call_once, owned.get()};
        error = stream ? submit(call, *stream, work) : submit_raw(call, *target, handle, work);
        if (error == infinirtSuccess) owned.release();
    }
    return error == infinirtSuccess ? INFINI_STATUS_SUCCESS : failed(function, error);
} catch (...) {
    return no_host_memory(function);
}

infiniStatus_t infiniDriverStream(const char *function, const InfiniTarget *target, void *handle,
                                  void **driver) try {
    *driver = handle;
    if (static_cast<Device *>(target->device)->backend.own_handles) return INFINI_STATUS_SUCCESS;
    Call call(Function::LaunchHostFunc);
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    Stream *stream = stream_of(call, function, *target, handle, &status);
    if (!stream) return status;
    if (stream->capture.load(std::memory_order_acquire))
        return fail(function, INFINI_STATUS_NOT_IMPLEMENTED,
                    "stream is being captured: the vendor's collectives cannot be part of a graph "
                    "that the core records; call them outside of the capture, or record tensors "
                    "with infinicore.record()");
    stream->position.fetch_add(1, std::memory_order_relaxed);
    *driver = stream->driver;
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return no_host_memory(function);
}

infiniStatus_t infiniOrderStreams(const char *function, const InfiniTarget *target, void *before,
                                  void *after) try {
    Call call(Function::StreamWaitEvent);
    infiniStatus_t status = INFINI_STATUS_SUCCESS;
    void *handles[] = {before, after};
    for (void *&handle : handles) {
        Stream *stream = stream_of(call, function, *target, handle, &status);
        if (!stream && status != INFINI_STATUS_SUCCESS) return status;
        if (stream && stream->capture.load(std::memory_order_acquire)) return INFINI_STATUS_SUCCESS;
        if (stream) handle = stream->driver;
    }
    const InfiniDriver &driver = static_cast<Device *>(target->device)->driver();
    InfiniWork record, wait;
    record.kind = INFINI_WORK_RECORD;
    wait.kind = INFINI_WORK_WAIT;
    Error error = driver.event_create(target->index, infinirtEventDisableTiming, &record.as.event);
    if (error != infinirtSuccess) return failed(function, call.driver(error, "making an event"));
    wait.as.event = record.as.event;
    error = driver.submit(target->index, handles[0], &record, 1);
    if (error == infinirtSuccess) error = driver.submit(target->index, handles[1], &wait, 1);
    driver.event_destroy(target->index, record.as.event);
    if (error == infinirtSuccess) return INFINI_STATUS_SUCCESS;
    return failed(function, call.driver(error, "ordering two streams"));
} catch (...) {
    return no_host_memory(function);
}

}  // extern "C"
