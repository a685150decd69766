// Builds an operator's call from Python's arguments.
#pragma once

#include <nanobind/nanobind.h>

#include "step.h"

namespace infini::python {

// index: of the operator in kRows; run: of its run function; the values in the order of C.
infinicore::detail::Call call_from(int index, int run, nanobind::handle attributes,
                                   nanobind::handle scalars);

}  // namespace infini::python
