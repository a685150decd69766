// Python numbers as elements of tensors.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "infinicore/memory.hpp"
#include "runtime.h"

namespace infini::python {

namespace nb = nanobind;

// Writes the number as an element; returns its bytes. A number out of the type's range is an error.
size_t encode_number(PyObject *number, infinicore::DataType dtype, void *to);

// A memory that holds the number, for the thread's stream. It may be shared, so it must not be
// written.
std::shared_ptr<infinicore::Memory> number_memory(infinicore::detail::DeviceRuntime &runtime,
                                                  PyObject *number, infinicore::DataType dtype);
// One that is not shared.
std::shared_ptr<infinicore::Memory> own_number_memory(infinicore::detail::DeviceRuntime &runtime,
                                                      PyObject *number, infinicore::DataType dtype);

}  // namespace infini::python
