// Errors that leave a public function: Python's hook rewrites them in that function's words.
#pragma once

#include <nanobind/nanobind.h>

namespace infini::python {

// The error that is set, as the hook would have it. Only failed calls come here.
[[gnu::cold]] void explain_error(PyObject *function, PyObject *const *args, size_t flags,
                                 PyObject *keywords);

}  // namespace infini::python
