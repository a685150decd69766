// Errors that leave a public function: a hook in Python rewrites their messages for that function.
#pragma once

#include <nanobind/nanobind.h>

namespace infini::python {

// Passes the current error through the hook. Called only for failed calls.
[[gnu::cold]] void explain_error(PyObject *function, PyObject *const *args, size_t flags,
                                 PyObject *keywords);

}  // namespace infini::python
