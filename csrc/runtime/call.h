// One call of the runtime API: which function, on which thread; argument checks; how it ends.
#pragma once

#include <cstdarg>

#include "core.h"
#include "ordered.h"

namespace infini::rt {

struct Event;
struct Exec;
struct Graph;
struct Node;
struct UserObject;

// What other libraries have to say to a host that has waited; null while there is nothing.
extern std::atomic<InfiniWaitCheck> wait_check;

class Call {
public:
    explicit Call(Function function) : function(function), thread(Thread::current()) {}

    // False when no device can serve the call, or it is made inside a host function of a stream.
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
    // call.error(). Required pointers: not null, and there is memory of that size to read or write.
    // Pages are remembered, so this costs a few comparisons; a pointer that was good before and was
    // unmapped since is not noticed.
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
    // A required function.
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

    // For calls that go to the back end's own function: is the handle one of the core's, and so an
    // object of another device type? Then the error is recorded. The back end's own handles
    // cannot be distinguished from wrong ones here.
    bool strange(infinirtStream_t handle, int index, const char *name);
    bool strange(infinirtEvent_t handle, int index, const char *name);
    bool strange(infinirtGraph_t handle, int index, const char *name);
    bool strange(infinirtGraphNode_t handle, int index, const char *name);
    bool strange(infinirtGraphExec_t handle, int index, const char *name);
    bool strange(infinirtMemPool_t handle, int index, const char *name);
    bool strange(infinirtUserObject_t handle, int index, const char *name);
    // Is one of the two the core's?
    bool across(infinirtStream_t stream, infinirtEvent_t event) const;
    // The event that was looked up is another back end's own: no error was recorded.
    bool crossing() const { return crossing_; }

    // Records a sentence and gives back the code. The function's name is put in front.
    Error fail(Error code, const char *format, ...) __attribute__((format(printf, 3, 4)));
    // With the code infinirtErrorInvalidValue.
    Error invalid(const char *format, ...) __attribute__((format(printf, 2, 3)));
    // As fail, for the result of a driver function: keeps the sentence that the back end explained.
    Error driver(Error code, const char *what);
    Error unsupported(const char *reason);

    // The host may read results now: a collective that failed has left none.
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

    // The entry point caught an exception: host memory ran out.
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

// Lets a stream wait for an event of another device type (across.cc).
Error wait_across(Call &call, infinirtStream_t stream, infinirtEvent_t event, unsigned flags);
// Events that back ends made themselves are remembered, so that streams of other kinds can wait for
// them.
Error note_event(Call &call, Error code, const infinirtEvent_t *event);
void forget_event(infinirtEvent_t event);

// For code without a Call (first-generation face, ext.h): set message and last error.
void record_error(Thread &thread, Error code, const std::string &sentence);

const char *error_name(Error code);
const char *error_string(Error code);

}  // namespace infini::rt
