// One call of the runtime API: its function and thread, argument checks, and its result.
#pragma once

#include <cstdarg>

#include "core.h"
#include "runtime_services.h"

namespace infini::rt {

struct Event;
struct Exec;
struct Graph;
struct Node;
struct UserObject;

// The error check of other libraries for host waits; null if there is none.
extern std::atomic<InfiniWaitCheck> wait_check;

class Call {
public:
    explicit Call(Function function) : function(function), thread(Thread::current()) {}

    // False if no device can serve the call, or it is made inside a host function of a stream.
    bool ready() {
        if (thread.device && thread.host_function_depth == 0) [[likely]]
            return true;
        return prepare();
    }

    template <class F>
    F own() const {
        return thread.backend->function<F>(function);
    }

    // Argument checks. `index` counts from 1. On failure the error is recorded: return
    // call.error(). Required pointers must not be null, and memory of that size must be readable or
    // writable. Accessible pages are cached, so this costs a few comparisons; a page that was
    // unmapped since goes unnoticed.
    bool readable(const void *pointer, size_t bytes, int index, const char *name) {
        return thread.memory.knows_pages(pointer, bytes, false) ||
               check_memory(pointer, bytes, false, index, name);
    }
    bool writable(const void *pointer, size_t bytes, int index, const char *name) {
        return thread.memory.knows_pages(pointer, bytes, true) ||
               check_memory(pointer, bytes, true, index, name);
    }
    bool readable_list(const void *list, size_t count, size_t bytes, int index, const char *name) {
        return count == 0 || check_list(list, count, bytes, index, name);
    }
    // A required function pointer.
    bool require(const void *pointer, int index, const char *name) {
        return pointer || missing(index, name);
    }
    Stream *stream(infinirtStream_t handle, int index, const char *name);
    Event *event(infinirtEvent_t handle, int index, const char *name);
    Graph *graph(infinirtGraph_t handle, int index, const char *name);
    Node *node(infinirtGraphNode_t handle, int index, const char *name);
    Exec *exec(infinirtGraphExec_t handle, int index, const char *name);
    Pool *pool(infinirtMemPool_t handle, int index, const char *name);
    UserObject *user_object(infinirtUserObject_t handle, int index, const char *name);

    // For calls that are forwarded to the back end: is the handle one of the core's, and therefore
    // an object of another device type? Then the error is recorded. Here the back end's own handles
    // cannot be told apart from invalid ones.
    bool strange(infinirtStream_t handle, int index, const char *name);
    bool strange(infinirtEvent_t handle, int index, const char *name);
    bool strange(infinirtGraph_t handle, int index, const char *name);
    bool strange(infinirtGraphNode_t handle, int index, const char *name);
    bool strange(infinirtGraphExec_t handle, int index, const char *name);
    bool strange(infinirtMemPool_t handle, int index, const char *name);
    bool strange(infinirtUserObject_t handle, int index, const char *name);
    // Is one of the two the core's?
    bool across(infinirtStream_t stream, infinirtEvent_t event) const;
    // The event that was looked up belongs to another back end: no error was recorded.
    bool crossing() const { return crossing_; }

    // Records a message, prefixed with the function's name, and returns the code.
    Error fail(Error code, const char *format, ...) __attribute__((format(printf, 3, 4)));
    // The same with infinirtErrorInvalidValue.
    Error invalid(const char *format, ...) __attribute__((format(printf, 2, 3)));
    // As fail, for the result of a driver function: keeps the message that the back end set.
    Error driver(Error code, const char *what);
    Error unsupported(const char *reason);

    // The host may read results now: report a failed collective, whose results are invalid.
    Error waited(Error code) {
        if (wait_check.load(std::memory_order_acquire)) [[unlikely]]
            return code == infinirtSuccess ? ask_wait_check() : code;
        return code;
    }

    Error error() const { return thread.last_error; }
    Error done(Error code) {
        if (code != infinirtSuccess) [[unlikely]]
            finish(code);
        return code;
    }

    // For the entry point's catch clause: host memory ran out.
    static Error caught(Function function) noexcept;

    Device &device() { return *thread.device; }

    const Function function;
    Thread &thread;

private:
    bool crossing_ = false;
    bool explained_ = false;  // fail() made the message for the error that ends this call

    bool check_memory(const void *pointer, size_t bytes, bool write, int index, const char *name);
    bool check_list(const void *list, size_t count, size_t bytes, int index, const char *name);
    bool prepare();
    bool missing(int index, const char *name);
    Error ask_wait_check();
    void record(Error code, const char *format, va_list arguments);
    void finish(Error code);
};

// Makes a stream wait for an event of another device type (across.cc).
Error wait_across(Call &call, infinirtStream_t stream, infinirtEvent_t event, unsigned flags);
// Events that back ends created themselves are recorded, so that streams of other types can wait
// for them.
Error note_event(Call &call, Error code, const infinirtEvent_t *event);
void forget_event(infinirtEvent_t event);

// For code without a Call (first-generation API, ext.h): sets message and last error.
void record_error(Thread &thread, Error code, const std::string &sentence);

const char *error_name(Error code);
const char *error_string(Error code);

}  // namespace infini::rt
