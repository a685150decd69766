// The interpreter's lock, given up or taken for a scope.
//
// When the interpreter ends, it ends the threads that want the lock: the thread is unwound out of
// the very call that asks for it. Destructors can't be left that way, and what they guard has no
// interpreter any more; so the thread stops here, as later versions of Python have it.
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
