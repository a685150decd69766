// Python numbers as elements of tensors.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "infinicore/memory.hpp"
#include "runtime.h"

namespace infini::python {

namespace nb = nanobind;

// Writes the number as an element; returns its bytes. A number that the type can't hold is an error.
size_t encode_number(PyObject *number, infinicore::DataType dtype, void *to);

// A memory that holds the number, written in the order of the stream.
std::shared_ptr<infinicore::Memory> number_memory(infinicore::detail::DeviceRuntime &runtime,
                                                  PyObject *number, infinicore::DataType dtype);

}  // namespace infini::python
