// The parameters of a function, and the arguments of a call in their order.
#pragma once

#include <nanobind/nanobind.h>

#include <cstring>
#include <string>
#include <vector>

#include "other_names.h"

namespace infini::python {

constexpr size_t kMostParameters = 32;

struct Parameter {
    PyObject *name;    // interned
    PyObject *preset;  // null: required
    bool is_operand;   // a number instead of a tensor: its value is not part of the signature
    bool keyword_only;
};

inline size_t find_named(const std::vector<Parameter> &parameters, const char *name) {
    size_t at = 0;
    while (at < parameters.size() &&
           PyUnicode_CompareWithASCIIString(parameters[at].name, name) != 0)
        ++at;
    return at;
}

// The parameter for an alias keyword; one past the last if there is none.
[[gnu::cold, gnu::noinline]] inline size_t find_meant(const std::vector<Parameter> &parameters,
                                                      PyObject *keyword) {
    const auto has = [&](const char *name) {
        return find_named(parameters, name) < parameters.size();
    };
    const char *meant = meant_parameter(keyword, has);
    return meant ? find_named(parameters, meant) : parameters.size();
}

// Binds keywords to their parameters; entries of parameters that are not given are null.
[[gnu::noinline]] inline bool bind_keywords(const std::vector<Parameter> &parameters,
                                            const char *name, PyObject *const *values,
                                            PyObject *keywords, PyObject **bound) {
    const Py_ssize_t named = PyTuple_Size(keywords);
    for (Py_ssize_t k = 0; k < named; ++k) {
        PyObject *keyword = PyTuple_GetItem(keywords, k);
        size_t at = 0;
        while (at < parameters.size() && parameters[at].name != keyword) ++at;
        if (at == parameters.size())
            for (at = 0; at < parameters.size(); ++at)
                if (PyUnicode_Compare(parameters[at].name, keyword) == 0) break;
        if (at == parameters.size()) at = find_meant(parameters, keyword);
        if (at == parameters.size()) {
            PyErr_Format(PyExc_TypeError, "%s: got an unexpected keyword argument '%U'", name,
                         keyword);
            return false;
        }
        if (bound[at]) {
            PyErr_Format(PyExc_TypeError, "%s: got several values for argument '%U'", name,
                         parameters[at].name);
            return false;
        }
        bound[at] = values[k];
    }
    return true;
}

// Puts the arguments into the order of the parameters; false with an exception set. Keywords are
// bound out of line: calls without them are the fast path.
inline bool bind_arguments(const std::vector<Parameter> &parameters, size_t positional,
                           const std::string &function, PyObject *const *args, size_t count,
                           PyObject *keywords, PyObject **bound) {
    const char *name = function.c_str();
    if (count > positional) [[unlikely]] {
        PyErr_Format(PyExc_TypeError, "%s: expected at most %zu positional arguments, got %zu",
                     name, positional, count);
        return false;
    }
    const size_t all = parameters.size();
    if (keywords) {
        std::memcpy(bound, args, count * sizeof *args);
        std::memset(bound + count, 0, (all - count) * sizeof *bound);
        if (!bind_keywords(parameters, name, args + count, keywords, bound)) return false;
        args = bound;
        count = all;
    }
    for (size_t i = 0; i < all; ++i) {
        PyObject *value = i < count ? args[i] : nullptr;
        if (!value) value = parameters[i].preset;
        if (!value) [[unlikely]] {
            PyErr_Format(PyExc_TypeError, "%s: argument '%U' is missing", name, parameters[i].name);
            return false;
        }
        bound[i] = value;
    }
    return true;
}

}  // namespace infini::python
