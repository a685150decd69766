#include "across.h"

#include <memory>
#include <unordered_map>

#include "capture.h"
#include "exec.h"
#include "pool.h"

namespace infini::rt {
namespace {

// ---- Events created by the back ends themselves
// ------------------------------------------------------

struct OwnEvents {
    ForkSafeMutex mutex{LockRank::Registry};
    std::unordered_map<const void *, Device *> devices;
};

// Leaked: clients may still call during process exit.
OwnEvents &own_events() {
    static auto *instance = new OwnEvents;
    return *instance;
}

// ---- Waiting ------------------------------------------------------------------------------------

InfiniWork host_work(void (*function)(void *), void *data) {
    InfiniWork work;
    work.kind = INFINI_WORK_HOST;
    work.as.host = {function, data};
    return work;
}

// A stream and an event, as handles of their back ends.
struct Side {
    Device *device = nullptr;
    void *handle = nullptr;  // the driver's
};

bool is_capturing(const Side &stream) {
    using Ask = Error (*)(infinirtStream_t, infinirtStreamCaptureStatus *);
    auto ask = stream.device->backend.function<Ask>(Function::StreamIsCapturing);
    infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
    if (!ask) return false;
    return ask(static_cast<infinirtStream_t>(stream.handle), &status) == infinirtSuccess &&
           status != infinirtStreamCaptureStatusNone;
}

Error no_capture(Call &call) {
    return call.fail(infinirtErrorStreamCaptureUnsupported,
                     "a capture cannot hold a wait for another device type");
}

// A record of an event, held by an event of the core's own, so that later records by the client do
// not affect it. A host function of the other device type waits for it. It does not run among the
// host functions of the event's device type, so it cannot block the one that it waits for.
struct Awaited {
    Device &device;
    void *event = nullptr;  // the driver's

    ~Awaited() {
        if (event) device.driver().event_destroy(device.index, event);
    }
    static void run(void *self) {
        auto *awaited = static_cast<Awaited *>(self);
        Device &device = awaited->device;
        device.driver().event_synchronize(device.index, awaited->event);
        delete awaited;
    }
};

// Runs in a stream of its own, so that it waits for nothing else. Null with the error recorded.
std::unique_ptr<Awaited> hold_record(Call &call, const Side &event) {
    Device &device = *event.device;
    const InfiniDriver &driver = device.driver();
    auto awaited = std::make_unique<Awaited>(device);
    Side stream{&device, nullptr};
    Error error = driver.stream_create(device.index, infinirtStreamNonBlocking, 0, &stream.handle);
    if (error != infinirtSuccess) {
        call.driver(error, "making a stream to wait in");
        return nullptr;
    }
    constexpr unsigned kFlags = infinirtEventDisableTiming | infinirtEventBlockingSync;
    error = driver.event_create(device.index, kFlags, &awaited->event);
    InfiniWork work[2] = {};
    work[0].kind = INFINI_WORK_WAIT;
    work[0].as.event = event.handle;
    work[1].kind = INFINI_WORK_RECORD;
    work[1].as.event = awaited->event;
    if (error == infinirtSuccess) error = driver.submit(device.index, stream.handle, work, 1);
    bool captured = error == infinirtSuccess && is_capturing(stream);
    if (error == infinirtSuccess && !captured)
        error = driver.submit(device.index, stream.handle, work + 1, 1);
    driver.stream_destroy(device.index, stream.handle);
    if (!captured && error == infinirtSuccess) return awaited;
    captured ? no_capture(call) : call.driver(error, "waiting for the event");
    return nullptr;
}

}  // namespace

Error note_event(Call &call, Error code, const infinirtEvent_t *event) {
    if (code == infinirtSuccess) {
        std::lock_guard lock(own_events().mutex);
        own_events().devices[*event] = &call.device();
    }
    return code;
}

void forget_event(infinirtEvent_t event) {
    std::lock_guard lock(own_events().mutex);
    own_events().devices.erase(event);
}

Device *device_of_event(infinirtEvent_t event) {
    std::lock_guard lock(own_events().mutex);
    auto found = own_events().devices.find(event);
    return found == own_events().devices.end() ? nullptr : found->second;
}

bool Call::across(infinirtStream_t stream, infinirtEvent_t event) const {
    auto foreign = [&](auto *object) {
        return object && &object->device.backend != thread.backend;
    };
    return foreign(StreamTable::get().find(stream)) || foreign(EventTable::get().find(event));
}

Error wait_across(Call &call, infinirtStream_t stream, infinirtEvent_t event, unsigned flags) {
    if (flags != 0)
        return call.invalid("flags is 0x%x: expected 0 with an event of another device type",
                            flags);
    Event *recorded = EventTable::get().find(event);
    Side waiting{&call.device(), stream}, awaited{&call.device(), event};
    Stream *core = StreamTable::get().find(stream);
    if (!call.thread.backend->own_handles) {
        core = call.stream(stream, 1, "stream");
        if (!core) return call.error();
    }
    if (core) waiting = {&core->device, core->driver};
    if (recorded)
        awaited = {&recorded->device, recorded->driver};
    else if (Device *device = device_of_event(event))
        awaited.device = device;
    if (&waiting.device->backend == &awaited.device->backend)
        return call.fail(infinirtErrorInvalidResourceHandle,
                         "stream and event are of kind %s, but this thread uses kind %s",
                         waiting.device->backend.name.c_str(), call.thread.backend->name.c_str());
    bool captured = recorded && recorded->capture_id.load(std::memory_order_acquire);
    if (captured || (core ? core->capture.load() != nullptr : is_capturing(waiting)))
        return no_capture(call);

    std::unique_ptr<Awaited> record = hold_record(call, awaited);
    if (!record) return call.error();
    InfiniWork wait = host_work(Awaited::run, record.get());
    Error error =
        core ? submit_now(call, *core, &wait, 1)
             : waiting.device->driver().submit(waiting.device->index, waiting.handle, &wait, 1);
    if (error != infinirtSuccess) return core ? error : call.driver(error, "waiting for the event");
    record.release();  // now owned by the host function
    return infinirtSuccess;
}

// ---- Handles of the core in calls for a back end's own functions --------------------------------

namespace {

Error strange_handle(Call &call, int index, const char *name, const char *what, const char *kind) {
    return call.done(call.fail(infinirtErrorInvalidResourceHandle,
                               "argument %d (%s) is %s of kind %s, but this thread uses kind %s",
                               index, name, what, kind, call.thread.backend->name.c_str()));
}

template <class T>
bool is_strange(Call &call, const void *handle, int index, const char *name, const char *what) {
    T *object = HandleTable<T>::get().find(handle);
    if (!object) [[likely]]
        return false;
    const char *kind = "another device";
    if constexpr (requires { object->device.backend; }) {
        if (&object->device.backend == call.thread.backend) return false;
        kind = object->device.backend.name.c_str();
    } else if (!call.thread.backend->own_handles) {
        return false;
    }
    strange_handle(call, index, name, what, kind);
    return true;
}

}  // namespace

bool Call::strange(infinirtStream_t handle, int index, const char *name) {
    return is_strange<Stream>(*this, handle, index, name, "a stream");
}
bool Call::strange(infinirtEvent_t handle, int index, const char *name) {
    return is_strange<Event>(*this, handle, index, name, "an event");
}
bool Call::strange(infinirtGraph_t handle, int index, const char *name) {
    return is_strange<Graph>(*this, handle, index, name, "a graph");
}
bool Call::strange(infinirtGraphNode_t handle, int index, const char *name) {
    return is_strange<Node>(*this, handle, index, name, "a graph node");
}
bool Call::strange(infinirtGraphExec_t handle, int index, const char *name) {
    return is_strange<Exec>(*this, handle, index, name, "an instantiated graph");
}
bool Call::strange(infinirtMemPool_t handle, int index, const char *name) {
    return is_strange<Pool>(*this, handle, index, name, "a memory pool");
}
bool Call::strange(infinirtUserObject_t handle, int index, const char *name) {
    return is_strange<UserObject>(*this, handle, index, name, "a user object");
}

// ---- Memory -------------------------------------------------------------------------------------

bool find_elsewhere(const void *pointer, Operand *operand, bool only_used) {
    using Ask = Error (*)(infinirtPointerAttributes *, const void *);
    for (Backend *backend : backends()) {
        auto ask = backend->function<Ask>(Function::PointerGetAttributes);
        infinirtPointerAttributes found{};
        if (!ask || backend->devices.empty()) continue;
        if (only_used && !backend->used.load(std::memory_order_relaxed)) continue;
        if (ask(&found, pointer) != infinirtSuccess) continue;
        bool managed = found.type == infinirtMemoryTypeManaged;
        if (!managed && found.type != infinirtMemoryTypeDevice) continue;
        if (found.device < 0 || size_t(found.device) >= backend->devices.size()) continue;
        operand->device = backend->devices[found.device].get();
        operand->place = managed ? Place::Managed : Place::Device;
        return true;
    }
    Thread::current().explanation.clear();
    return false;
}

namespace {

// Done by a host function in a stream of the host's device: the other device copies meanwhile.
struct LateCopy {
    Device &device;
    InfiniWork work;

    static void run(void *self) {
        auto *copy = static_cast<LateCopy *>(self);
        Device &device = copy->device;
        const InfiniDriver &driver = device.driver();
        void *stream = nullptr;
        if (driver.stream_create(device.index, infinirtStreamNonBlocking, 0, &stream) ==
            infinirtSuccess) {
            driver.submit(device.index, stream, &copy->work, 1);
            driver.stream_synchronize(device.index, stream);
            driver.stream_destroy(device.index, stream);
        }
        delete copy;
    }
};

}  // namespace

Error copy_across(Call &call, const CopyPlan &plan, Stream &stream) {
    auto on_host = [](const Operand &side) { return !side.on_device() || is_host(*side.device); };
    bool to_other = foreign(call, plan.dst), from_other = foreign(call, plan.src);
    bool possible = is_host(stream.device) && !stream.capture.load(std::memory_order_acquire) &&
                    on_host(to_other ? plan.src : plan.dst) && to_other != from_other;
    if (!possible)
        return call.fail(infinirtErrorNotSupported,
                         "%s belongs to another device type than the stream: a stream cannot "
                         "wait for it; use infinirtMemcpy",
                         to_other ? "dst" : "src");
    auto *late = new LateCopy{to_other ? *plan.dst.device : *plan.src.device, plan.work};
    InfiniCopy &copy = late->work.as.copy;
    (to_other ? copy.src_device : copy.dst_device) = -1;
    InfiniWork work = host_work(LateCopy::run, late);
    Error error = submit_now(call, stream, &work, 1);
    if (error != infinirtSuccess) {
        delete late;
        return error;
    }
    // As with pageable memory: the client may use the host memory when this returns.
    Device &device = stream.device;
    error = device.driver().stream_synchronize(device.index, stream.driver);
    return call.driver(error, "waiting for the copy");
}

}  // namespace infini::rt
