// `Plan`: a planned operator, ready to run any number of times.
#pragma once

#include <nanobind/nanobind.h>

namespace infini::python {

void bind_plan(nanobind::module_ &m);

}  // namespace infini::python
