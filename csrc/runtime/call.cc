#include "call.h"

#include <cstdio>

#include "across.h"
#include "exec.h"
#include "memory.h"
#include "pool.h"
#include "stream.h"

namespace infini::rt {
namespace {

std::string format(const char *pattern, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(nullptr, 0, pattern, again);
    va_end(again);
    std::string text(length > 0 ? length : 0, '\0');
    if (length > 0) vsnprintf(text.data(), text.size() + 1, pattern, arguments);
    return text;
}

}  // namespace

void record_error(Thread &thread, Error code, const std::string &sentence) {
    thread.message = sentence;
    thread.failed_code = code;
    thread.last_error = code;
}

bool Call::prepare() {
    if (thread.host_function_depth > 0) {
        done(fail(infinirtErrorNotPermitted,
                  "called inside a host function of a stream: it must not use the runtime; "
                  "hand the work to another thread"));
        return false;
    }
    Backend *backend = default_backend();
    if (!backend) {
        done(fail(infinirtErrorNoDevice, "%s", default_backend_problem().c_str()));
        return false;
    }
    if (Error error = thread.use(*backend)) {
        done(driver(error, "choosing the device"));
        return false;
    }
    return true;
}

bool Call::missing(int index, const char *name) {
    done(invalid("argument %d (%s) is null: expected a valid pointer", index, name));
    return false;
}

bool Call::check_memory(const void *pointer, size_t bytes, bool write, int index,
                        const char *name) {
    if (!pointer) return missing(index, name);
    if (probe_host(thread.memory, pointer, bytes, write)) return true;
    done(invalid("argument %d (%s) is %p: expected a pointer to %zu bytes that can be %s", index,
                 name, pointer, bytes, write ? "written" : "read"));
    return false;
}

bool Call::check_list(const void *list, size_t count, size_t bytes, int index, const char *name) {
    if (!list) return missing(index, name);
    if (count <= SIZE_MAX / bytes && probe_host(thread.memory, list, count * bytes, false))
        return true;
    done(invalid("argument %d (%s) is %p: expected a list of %zu items that can be read", index,
                 name, list, count));
    return false;
}

Error Call::fail(Error code, const char *pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    record(code, pattern, arguments);
    va_end(arguments);
    return code;
}

Error Call::invalid(const char *pattern, ...) {
    va_list arguments;
    va_start(arguments, pattern);
    record(infinirtErrorInvalidValue, pattern, arguments);
    va_end(arguments);
    return infinirtErrorInvalidValue;
}

void Call::record(Error code, const char *pattern, va_list arguments) {
    thread.message = std::string(function_name(function)) + ": " + format(pattern, arguments);
    thread.failed_code = code;
    thread.failed_function = function_name(function);
    thread.last_error = code;
    explained_ = true;
}

Error Call::driver(Error code, const char *what) {
    if (code == infinirtSuccess) return code;
    std::string explained = std::move(thread.explanation);
    thread.explanation.clear();
    if (code == infinirtErrorNotReady) return code;
    return fail(code, "%s: %s", what, explained.empty() ? error_string(code) : explained.c_str());
}

Error Call::unsupported(const char *reason) {
    return done(fail(infinirtErrorNotSupported, "not supported on %s devices: %s",
                     thread.backend ? thread.backend->name.c_str() : "these", reason));
}

void Call::finish(Error code) {
    // "Not ready" is a result: it does not replace the recorded error (CUDA's rule).
    if (code != infinirtErrorNotReady) thread.last_error = code;
    if (explained_) return;
    // The message is formatted on request: a polled query must stay cheap.
    thread.message.clear();
    if (!thread.explanation.empty())
        thread.message = std::string(function_name(function)) + ": " + thread.explanation;
    thread.explanation.clear();
    thread.failed_code = code;
    thread.failed_function = function_name(function);
}

Error Call::caught(Function function) noexcept {
    // Nothing here may allocate: the message is formatted on request, when memory may be available
    // again.
    Thread &thread = Thread::current();
    thread.message.clear();
    thread.failed_function = function_name(function);
    return thread.failed_code = thread.last_error = infinirtErrorMemoryAllocation;
}

Stream *Call::stream(infinirtStream_t handle, int index, const char *name) {
    if (!handle || handle == infinirtStreamLegacy) return device().legacy.get();
    if (handle == infinirtStreamPerThread) return thread_stream(*this, device());
    Stream *stream = StreamTable::get().find(handle);
    if (!stream) {
        done(fail(infinirtErrorInvalidResourceHandle,
                  "argument %d (%s) is no live stream: expected one from infinirtStreamCreate that "
                  "was not destroyed",
                  index, name));
    } else if (&stream->device.backend != thread.backend) {
        done(fail(infinirtErrorInvalidResourceHandle,
                  "argument %d (%s) is a stream of kind %s, but this thread uses kind %s", index,
                  name, stream->device.backend.name.c_str(), thread.backend->name.c_str()));
        return nullptr;
    }
    return stream;
}

namespace {

template <class T>
T *look_up(Call &call, const void *handle, Error code, int index, const char *name,
           const char *what) {
    T *object = HandleTable<T>::get().find(handle);
    if (!object)
        call.done(call.fail(code, "argument %d (%s) is %s: expected %s that was not destroyed",
                            index, name, handle ? "no live handle" : "null", what));
    return object;
}

}  // namespace

Event *Call::event(infinirtEvent_t handle, int index, const char *name) {
    Event *event = EventTable::get().find(handle);
    if (!event) [[unlikely]] {
        crossing_ = function == Function::StreamWaitEvent && device_of_event(handle);
        if (crossing_) return nullptr;
        return look_up<Event>(*this, handle, infinirtErrorInvalidResourceHandle, index, name,
                              "an event from infinirtEventCreate");
    }
    if (&event->device.backend != thread.backend) {
        done(fail(infinirtErrorInvalidResourceHandle,
                  "argument %d (%s) is an event of kind %s, but this thread uses kind %s", index,
                  name, event->device.backend.name.c_str(), thread.backend->name.c_str()));
        return nullptr;
    }
    return event;
}

Graph *Call::graph(infinirtGraph_t handle, int index, const char *name) {
    return look_up<Graph>(*this, handle, infinirtErrorInvalidValue, index, name, "a graph");
}

Node *Call::node(infinirtGraphNode_t handle, int index, const char *name) {
    return look_up<Node>(*this, handle, infinirtErrorInvalidValue, index, name, "a graph node");
}

Exec *Call::exec(infinirtGraphExec_t handle, int index, const char *name) {
    return look_up<Exec>(*this, handle, infinirtErrorInvalidValue, index, name,
                         "an instantiated graph");
}

Pool *Call::pool(infinirtMemPool_t handle, int index, const char *name) {
    return look_up<Pool>(*this, handle, infinirtErrorInvalidValue, index, name, "a memory pool");
}

UserObject *Call::user_object(infinirtUserObject_t handle, int index, const char *name) {
    return look_up<UserObject>(*this, handle, infinirtErrorInvalidValue, index, name,
                               "a user object");
}

}  // namespace infini::rt
