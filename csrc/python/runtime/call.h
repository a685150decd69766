// One call of the C API from Python: waiting without the interpreter's lock, and errors as
// exceptions.
#pragma once

#include <nanobind/nanobind.h>

#include "convert.h"
#include "infini/ext.h"

namespace infini::python {

// From this size on it pays to release the interpreter's lock for copies and fills.
constexpr size_t kLargeBytes = 32 << 10;

[[noreturn]] void throw_error(infinirtError_t code);
// For functions of infini/ext.h, which return a status and record the code.
void check_status(infiniStatus_t status);

inline void check(infinirtError_t code) {
    if (code != infinirtSuccess) [[unlikely]]
        throw_error(code);
}

// For queries: is it done?
inline bool ready(infinirtError_t code) {
    if (code == infinirtSuccess) return true;
    if (code != infinirtErrorNotReady) throw_error(code);
    infinirtGetLastError();  // a result leaves no error behind
    return false;
}

// Runs a call that may wait, without blocking other Python threads, among them host functions that
// the call may be waiting for.
template <class F>
infinirtError_t waiting(F &&call) {
    nb::gil_scoped_release released;
    return call();
}

template <class F>
infinirtError_t waiting_if(bool long_enough, F &&call) {
    return long_enough ? waiting(call) : call();
}

// After a query: the error of the wait, or else that of the query, which may be the only report.
inline infinirtError_t if_well(bool well, infinirtError_t code) {
    return well || code != infinirtSuccess ? code : infinirtPeekAtLastError();
}

// For updates of instantiated graphs: that the graphs differ is reported by the result.
inline infinirtError_t unless_differing(infinirtError_t code) {
    return code == infinirtErrorGraphExecUpdateFailure ? infinirtSuccess : code;
}

}  // namespace infini::python
