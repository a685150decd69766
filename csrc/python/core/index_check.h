// Checks of indices before a call runs.
#pragma once

#include <string>

#include "tensor_object.h"

namespace infini::python {

// Raises for an index out of range, or a negative one, in the arguments of a call: `index` along
// dimension `dim` of `input`. Only values that the host sees are checked. Other mistakes are left
// to the function itself.
void check_index_along(const std::string &function, PyObject *input, PyObject *dim,
                       PyObject *index);

}  // namespace infini::python
