// Python exceptions with formatted messages.
#pragma once

#include <nanobind/nanobind.h>

namespace infini::python {

// The format is PyErr_Format's.
template <class... Values>
[[noreturn, gnu::cold]] void raise_error(PyObject *kind, const char *format, Values... values) {
    PyErr_Format(kind, format, values...);
    throw nanobind::python_error();
}

}  // namespace infini::python
