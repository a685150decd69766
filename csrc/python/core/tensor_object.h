// Fast access to the tensors in Python objects.
#pragma once

#include <nanobind/nanobind.h>

#include "gil.h"
#include "infinicore/tensor.hpp"

namespace infini::python {

namespace nb = nanobind;
using infinicore::DataType;
using infinicore::Device;
using infinicore::Shape;
using infinicore::Strides;
using infinicore::Tensor;
using infinicore::TensorImpl;

extern PyTypeObject *tensor_type;  // set when the module is loaded

// An object of a subclass whose __init__ did not call ours has no tensor.
inline bool is_tensor(PyObject *object) {
    return (Py_TYPE(object) == tensor_type || PyType_IsSubtype(Py_TYPE(object), tensor_type)) &&
           nb::inst_ready(object);
}
inline const Tensor &tensor_of(PyObject *object) { return *nb::inst_ptr<Tensor>(object); }

nb::object wrap(Tensor tensor);

// The Python objects of element types and devices: one for each.
PyObject *dtype_object(DataType dtype);         // borrowed
PyObject *device_object(const Device &device);  // borrowed
DataType dtype_from(nb::handle object);         // a dtype, or its number
Device device_from(nb::handle object);          // a device, or (type, index)

// `function` is named in the messages about values that are not numbers.
long long integer_from(nb::handle object, const char *function);
Shape shape_from(nb::handle sizes, const char *function);
Strides strides_from(nb::handle strides, const char *function);
nb::tuple tuple_of(const Shape &sizes);

// A dimension counted from the front; `object` names it in messages.
size_t dimension(long long dim, size_t ndim, const char *function);

void bind_tensor(nb::module_ &m);
void bind_views(nb::module_ &m);
void bind_indexing(nb::module_ &m);
PyType_Slot *tensor_slots();  // the buffer protocol
bool is_dtype(nb::handle object);
void bind_exchange(nb::module_ &m);
void bind_lending(nb::module_ &m);
void bind_host(nb::module_ &m);
void bind_index_check(nb::module_ &m);
void bind_selection(nb::module_ &m);
void bind_events(nb::module_ &m);
void bind_functions(nb::module_ &m);
void bind_other_names(nb::module_ &m);
void bind_explain(nb::module_ &m);
void bind_generators(nb::module_ &m);
void bind_context(nb::module_ &m);
void bind_graph(nb::module_ &m);
void bind_profile(nb::module_ &m);
void bind_steps(nb::module_ &m);
void bind_python_steps(nb::module_ &m);
void bind_collectives(nb::module_ &m);
void bind_conversions(nb::module_ &m);

}  // namespace infini::python
