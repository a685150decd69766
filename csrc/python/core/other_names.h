// NumPy's parameter names, which torch's functions accept as well: axis for dim.
#pragma once

#include <nanobind/nanobind.h>

namespace infini::python {

struct OtherName {
    const char *given, *parameter;
};

constexpr OtherName kOtherNames[] = {
    {"axis", "dim"}, {"keepdims", "keepdim"}, {"x", "input"},    {"a", "input"},
    {"x1", "input"}, {"x2", "other"},         {"input", "self"}, {"input", "x"},
};

// The parameter that a keyword means, by `has(name)`; null: none. Called only for keywords that are
// not parameters themselves, so that usual calls have no overhead.
template <class Has>
const char *meant_parameter(PyObject *keyword, const Has &has) {
    for (const OtherName &each : kOtherNames)
        if (PyUnicode_CompareWithASCIIString(keyword, each.given) == 0 && has(each.parameter))
            return each.parameter;
    return nullptr;
}

}  // namespace infini::python
