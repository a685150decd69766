// Deferred releases: references to Python objects dropped by code without the interpreter's lock,
// and resources that cannot be freed at the moment.
#pragma once

#include <nanobind/nanobind.h>

#include "infini/ext.h"
#include "infinirt_runtime_api.h"
#include "last_error.h"

namespace infini::python {

// Calls that the user did not make leave no error behind, and preserve an earlier one.
class LastErrorKept {
public:
    LastErrorKept() = default;
    ~LastErrorKept() { infiniRestoreLastError(before_); }
    LastErrorKept(const LastErrorKept &) = delete;

private:
    const infinirtError_t before_ = infinirtPeekAtLastError();
};

// Drops a reference from any thread, with or without the interpreter's lock, whatever locks are
// held. If `destroy` is given, `destroy(object)` is called first; that reference is dropped too.
void drop_later(PyObject *object, PyObject *destroy = nullptr);

// Frees a resource as soon as that is permitted and does not wait. `release` returns whether it is
// done.
void release_later(bool (*release)(void *), void *data);

// Whether freeing must be deferred: inside a host function, or while a stream is being captured.
bool must_not_free();
// Whether freeing memory would wait: a stream known to Python has work left. A garbage collector
// that waits for streams would stall, and could deadlock, the program.
bool freeing_waits();

// Waits for streams and frees everything deferred, for when memory is short. False: there was
// nothing.
bool reclaim();

// Streams made by Python, with the device type of the calling thread.
void note_stream(infinirtStream_t stream);
void forget_stream(infinirtStream_t stream);

// Performs the deferred releases. Needs the interpreter's lock and must not run inside a call of
// the library. The main thread calls it regularly.
void settle();

// A capture begun by Python, which freeing memory would invalidate.
void note_capture(infinirtStream_t stream);

// Takes the interpreter's lock in a back end's thread. False while the interpreter is shutting
// down: then Python must not be used.
class Attached {
public:
    Attached();
    ~Attached();
    explicit operator bool() const { return attached_; }

private:
    bool attached_;
    PyGILState_STATE state_;
};

// True on a thread that is running a Python callable for a stream.
bool inside_host_function();

void bind_pending(nanobind::module_ &m);

}  // namespace infini::python
