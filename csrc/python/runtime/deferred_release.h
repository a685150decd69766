// What is given up later: references to Python objects that code without the interpreter's lock
// lets go, and resources that cannot be freed at the moment.
#pragma once

#include <nanobind/nanobind.h>

#include "infini/ext.h"
#include "infinirt_runtime_api.h"
#include "last_error.h"

namespace infini::python {

// Calls that nobody asked for leave no error behind, and an earlier one where it was.
class LastErrorKept {
public:
    LastErrorKept() = default;
    ~LastErrorKept() { infiniRestoreLastError(before_); }
    LastErrorKept(const LastErrorKept &) = delete;

private:
    const infinirtError_t before_ = infinirtPeekAtLastError();
};

// Gives up a reference from any thread, with or without the interpreter's lock, whatever locks are
// held. If `destroy` is given, `destroy(object)` is called first; that reference is given up too.
void drop_later(PyObject *object, PyObject *destroy = nullptr);

// Frees a resource as soon as that is permitted and does not wait. `release` gives back whether the
// matter is settled.
void release_later(bool (*release)(void *), void *data);

// Whether freeing has to be put off: inside a host function, or while a stream is being captured.
bool must_not_free();
// Whether freeing memory would wait: a stream that Python knows of has work left. A garbage
// collector that waits for streams would stop, and could lock up, programs that never asked for it.
bool freeing_waits();

// Waits for streams and frees all that was put off, for when memory is short. False: there was
// nothing.
bool reclaim();

// Streams made by Python, with the device type of the calling thread.
void note_stream(infinirtStream_t stream);
void forget_stream(infinirtStream_t stream);

// Does what is due. Needs the interpreter's lock and must not run inside a call of the library. The
// main thread comes here by itself before long.
void settle();

// A capture that Python began, which freeing memory would spoil.
void note_capture(infinirtStream_t stream);

// The interpreter's lock for a thread of a back end. False while the interpreter is going away:
// then Python must not be touched.
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
