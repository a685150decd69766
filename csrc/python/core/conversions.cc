// Conversions for modules that other projects make with pybind11: see infinicore/pybind11.hpp.
#include "infinicore/pybind11.hpp"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

// Classes of the package, which live as long as the process.
PyObject *device_class, *underlying_device_class, *device_type_class, *dtype_class;

bool is_a(void *object, PyObject *of_class) {
    const int answer = PyObject_IsInstance(static_cast<PyObject *>(object), of_class);
    if (answer < 0) PyErr_Clear();
    return answer > 0;
}

// A member of an IntEnum, or an index.
bool load_number(PyObject *object, long long &number) {
    if (!object) return false;
    number = PyLong_AsLongLong(object);
    if (number != -1 || !PyErr_Occurred()) return true;
    PyErr_Clear();
    return false;
}

bool load_tensor(void *object, Tensor &tensor) noexcept {
    if (!is_tensor(static_cast<PyObject *>(object))) return false;
    tensor = tensor_of(static_cast<PyObject *>(object));
    return true;
}

bool load_device(void *object, Device &device) noexcept {
    nb::object underlying = nb::borrow(static_cast<PyObject *>(object));
    if (is_a(object, device_class)) {
        underlying = nb::steal(PyObject_GetAttrString(underlying.ptr(), "_underlying"));
        if (!underlying.is_valid()) PyErr_Clear();
    }
    if (!underlying.is_valid() || !is_a(underlying.ptr(), underlying_device_class) ||
        !PyTuple_Check(underlying.ptr()) || PyTuple_Size(underlying.ptr()) != 2)
        return false;
    long long type, index;
    if (!load_number(PyTuple_GetItem(underlying.ptr(), 0), type) ||
        !load_number(PyTuple_GetItem(underlying.ptr(), 1), index))
        return false;
    device = Device(Device::Type(type), size_t(index));
    return true;
}

bool load_device_type(void *object, Device::Type &type) noexcept {
    long long number;
    if (!is_a(object, device_type_class) || !load_number(static_cast<PyObject *>(object), number))
        return false;
    type = Device::Type(number);
    return true;
}

bool load_dtype(void *object, DataType &dtype) noexcept {
    auto *given = static_cast<PyObject *>(object);
    long long number;
    if (is_dtype(given)) {
        dtype = dtype_from(given);
    } else if (is_a(object, dtype_class) && load_number(given, number)) {
        dtype = DataType(number);
    } else {
        return false;
    }
    return true;
}

void *new_tensor(const Tensor &tensor) noexcept {
    try {
        return wrap(tensor).release().ptr();
    } catch (nb::python_error &error) {
        error.restore();
    } catch (const std::exception &error) {
        PyErr_SetString(PyExc_RuntimeError, error.what());
    }
    return nullptr;
}

void *new_device(const Device &device) noexcept {
    return PyObject_CallFunction(underlying_device_class, "in", int(device.getType()),
                                 Py_ssize_t(device.getIndex()));
}

void *new_device_type(const Device::Type &type) noexcept {
    return PyObject_CallFunction(device_type_class, "i", int(type));
}

void *new_dtype(const DataType &dtype) noexcept {
    return PyObject_CallFunction(dtype_class, "i", int(dtype));
}

void set_classes(nb::handle device, nb::handle underlying_device, nb::handle device_type,
                 nb::handle dtype) {
    device_class = nb::borrow(device).release().ptr();
    underlying_device_class = nb::borrow(underlying_device).release().ptr();
    device_type_class = nb::borrow(device_type).release().ptr();
    dtype_class = nb::borrow(dtype).release().ptr();
    static const infinicore::python::Conversions conversions{
        {load_tensor, new_tensor},
        {load_device, new_device},
        {load_device_type, new_device_type},
        {load_dtype, new_dtype},
    };
    infinicore::python::set_conversions(&conversions);
}

}  // namespace

void bind_conversions(nb::module_ &m) {
    m.def("_set_conversions", set_classes, "device"_a, "underlying_device"_a, "device_type"_a,
          "dtype"_a);
}

}  // namespace infini::python
