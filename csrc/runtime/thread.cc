// The state of one thread: current device, last error, default streams.
#include "capture.h"

namespace infini::rt {

constinit thread_local Thread *Thread::instance = nullptr;

// Destroys the state with its thread. An even later call, by another library's destructor, creates
// a new state.
struct ThreadEnd {
    bool armed = false;
    ~ThreadEnd() {
        delete Thread::instance;
        Thread::instance = nullptr;
    }
};

Thread &Thread::make() {
    static thread_local ThreadEnd end;
    end.armed = true;
    instance = new Thread;
    return *instance;
}

Thread::~Thread() {
    // Work queued in these streams still runs: destroying does not wait.
    for (Stream *stream : default_streams) {
        forget_stream(*stream);
        stream->device.driver().stream_destroy(stream->device.index, stream->driver);
        StreamTable::get().destroy(stream);
    }
}

Error Thread::use(Device &next) {
    if (auto set = next.backend.function<Error (*)(int)>(Function::SetDevice))
        if (Error error = set(next.index)) return error;
    if (device && &device->backend != &next.backend) {
        std::erase_if(chosen, [&](Device *old) {
            return &old->backend == &device->backend || &old->backend == &next.backend;
        });
        chosen.push_back(device);
    }
    backend = &next.backend;
    device = &next;
    backend->used.store(true, std::memory_order_relaxed);
    return infinirtSuccess;
}

Error Thread::use(Backend &next) {
    if (backend == &next) return infinirtSuccess;
    for (Device *old : chosen)
        if (&old->backend == &next) return use(*old);
    return use(*next.devices.front());
}

Stream *thread_stream(Call &call, Device &device) {
    for (Stream *stream : call.thread.default_streams)
        if (&stream->device == &device) return stream;
    void *driver = nullptr;
    Error error = device.driver().stream_create(device.index, infinirtStreamDefault, 0, &driver);
    Stream *stream = nullptr;
    if (error == infinirtSuccess)
        stream = StreamTable::get().make(device, driver, infinirtStreamDefault, 0);
    if (!stream) {
        call.done(call.driver(error ? error : infinirtErrorMemoryAllocation,
                              "making this thread's default stream"));
        return nullptr;
    }
    stream->per_thread = true;
    call.thread.default_streams.push_back(stream);
    return stream;
}

}  // namespace infini::rt
