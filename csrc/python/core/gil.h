// The interpreter's lock, released or taken for a scope.
//
// At its end the interpreter terminates threads that request the lock, by unwinding them from that
// call. Destructors cannot be unwound, and there is no interpreter left, so the thread blocks here,
// as in later versions of Python.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

namespace infini::python {

[[noreturn]] inline void stay_for_ever() {
    for (;;) pause();
}

class Unlocked {
public:
    Unlocked() : state_(PyEval_SaveThread()) {}
    ~Unlocked() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {
            stay_for_ever();
        }
    }
    Unlocked(const Unlocked &) = delete;

private:
    PyThreadState *state_;
};

class Locked {
public:
    Locked() {
        try {
            state_ = PyGILState_Ensure();
        } catch (...) {
            stay_for_ever();
        }
    }
    ~Locked() { PyGILState_Release(state_); }
    Locked(const Locked &) = delete;

private:
    PyGILState_STATE state_;
};

}  // namespace infini::python
