#include "tensor_object.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <map>

#include "../runtime/raise_error.h"
#include "recorder.h"

using namespace nanobind::literals;

namespace infini::python {

PyTypeObject *tensor_type = nullptr;

namespace {

PyObject *dtype_objects[32];
PyObject *size_type = nullptr;
nb::handle make_device;

std::map<std::pair<int, size_t>, PyObject *> &devices() {
    static auto *made = new std::map<std::pair<int, size_t>, PyObject *>;
    return *made;
}

// The objects that the package made for element types, by number; its Size; its device class.
void set_types(nb::dict dtypes, nb::handle size, nb::handle device) {
    for (auto [number, object] : dtypes) {
        auto index = nb::cast<size_t>(number);
        dtype_objects[index % std::size(dtype_objects)] = nb::borrow(object).release().ptr();
    }
    size_type = nb::borrow(size).release().ptr();
    make_device = nb::borrow(device).release();
}

nb::object size_of(const Tensor &tensor) {
    nb::tuple sizes = tuple_of(tensor->shape());
    return size_type ? nb::steal(PyObject_CallFunctionObjArgs(size_type, sizes.ptr(), nullptr))
                     : nb::object(sizes);
}

nb::object strides_of(const Tensor &tensor, std::optional<long long> dim) {
    if (dim) return nb::int_(tensor->strides()[dimension(*dim, tensor->ndim(), "stride")]);
    nb::list strides;
    for (auto stride : tensor->strides()) strides.append(stride);
    return nb::tuple(strides);
}

const char *role_of(const Tensor &tensor) {
    auto *open = dynamic_cast<infinicore::detail::OpenMemory *>(tensor->memory().get());
    if (!open) return "";
    using Role = infinicore::detail::OpenMemory::Role;
    if (!open->traced) return "recorded";
    return open->role == Role::Argument ? "argument"
           : open->role == Role::Number ? "number"
                                        : "result";
}

bool has_methods = false;

// Functions of the package are methods of its tensors. They are imported with the first tensor,
// whether it comes from a pickle, a file or another library.
void attach_methods() {
    thread_local bool is_attaching = false;  // the imported modules create tensors, too
    if (is_attaching) return;
    is_attaching = true;
    try {
        nb::module_::import_("infinicore").attr("_load_once")();
    } catch (...) {
        is_attaching = false;
        throw;
    }
    is_attaching = false;
    has_methods = true;
}

}  // namespace

nb::object wrap(Tensor tensor) {
    if (!has_methods) [[unlikely]]
        attach_methods();
    if (infinicore::detail::Recorder *recorder = infinicore::detail::recorded_graph()) [[unlikely]]
        recorder->note_made(tensor);
    nb::object made = nb::inst_alloc(reinterpret_cast<PyObject *>(tensor_type));
    new (nb::inst_ptr<Tensor>(made)) Tensor(std::move(tensor));
    nb::inst_mark_ready(made);
    return made;
}

PyObject *dtype_object(DataType dtype) {
    PyObject *object = dtype_objects[size_t(dtype)];
    return object ? object : Py_None;
}

PyObject *device_object(const Device &device) {
    PyObject *&object = devices()[{int(device.getType()), device.getIndex()}];
    if (!object) object = make_device(int(device.getType()), device.getIndex()).release().ptr();
    return object;
}

bool is_dtype(nb::handle object) {
    return std::find(std::begin(dtype_objects), std::end(dtype_objects), object.ptr()) !=
           std::end(dtype_objects);
}

DataType dtype_from(nb::handle object) {
    for (size_t i = 0; i < std::size(dtype_objects); ++i)
        if (dtype_objects[i] == object.ptr()) return DataType(i);
    nb::object number = PyLong_Check(object.ptr()) ? nb::borrow(object)
                                                   : nb::getattr(object, "_underlying", nb::none());
    const long value = PyLong_Check(number.ptr()) ? PyLong_AsLong(number.ptr()) : -1;
    PyErr_Clear();
    if (value >= 0 && size_t(value) < std::size(dtype_objects)) return DataType(value);
    raise_error(PyExc_TypeError, "dtype is %R: expected one such as infinicore.float32",
                object.ptr());
}

Device device_from(nb::handle object) {
    // There is one object for each device, so that comparing objects is enough. They are kept.
    static struct {
        PyObject *object;
        Device device;
    } known[4];
    for (const auto &each : known)
        if (each.object == object.ptr()) return each.device;
    if (nb::isinstance<nb::tuple>(object)) {
        auto [type, index] = nb::cast<std::pair<int, size_t>>(object);
        return {Device::Type(type), index};
    }
    nb::object number = nb::getattr(object, "_underlying", nb::none());
    if (!nb::isinstance<nb::tuple>(number))
        raise_error(PyExc_TypeError, "device is %R: expected one such as infinicore.device('cpu')",
                    object.ptr());
    const Device device = device_from(number);
    for (auto &each : known)
        if (!each.object) {
            each = {nb::borrow(object).release().ptr(), device};
            break;
        }
    return device;
}

long long integer_from(nb::handle object, const char *function) {
    nb::object number = nb::borrow(object);
    if (!PyLong_Check(object.ptr())) {
        number = nb::steal(PyNumber_Index(object.ptr()));
        if (!number.is_valid()) {
            PyErr_Clear();
            raise_error(PyExc_TypeError, "%s: expected an integer, got %R", function, object.ptr());
        }
    }
    const long long value = PyLong_AsLongLong(number.ptr());
    if (value == -1 && PyErr_Occurred()) throw nb::python_error();
    return value;
}

namespace {

size_t size_from(PyObject *size, const char *function) {
    const long long value = integer_from(size, function);
    if (value < 0)
        raise_error(PyExc_ValueError, "%s: a size is %lld: expected 0 or more", function, value);
    return size_t(value);
}

}  // namespace

Strides strides_from(nb::handle strides, const char *function) {
    Strides made;
    for (nb::handle each : strides) made.push_back(integer_from(each, function));
    return made;
}

Shape shape_from(nb::handle sizes, const char *function) {
    Shape shape;
    if (PyTuple_Check(sizes.ptr())) {
        const Py_ssize_t count = PyTuple_Size(sizes.ptr());
        shape.reserve(size_t(count));
        for (Py_ssize_t i = 0; i < count; ++i)
            shape.push_back(size_from(PyTuple_GetItem(sizes.ptr(), i), function));
    } else if (PyIndex_Check(sizes.ptr())) {
        shape.push_back(size_from(sizes.ptr(), function));
    } else {
        for (nb::handle size : sizes) shape.push_back(size_from(size.ptr(), function));
    }
    return shape;
}

nb::tuple tuple_of(const Shape &sizes) {
    nb::object made = nb::steal(PyTuple_New(Py_ssize_t(sizes.size())));
    for (size_t i = 0; i < sizes.size(); ++i)
        PyTuple_SetItem(made.ptr(), Py_ssize_t(i), PyLong_FromSize_t(sizes[i]));
    return nb::borrow<nb::tuple>(made);
}

size_t dimension(long long dim, size_t ndim, const char *function) {
    auto rank = (long long)(ndim);
    if (dim >= -rank && dim < rank) return size_t(dim < 0 ? dim + rank : dim);
    raise_error(PyExc_IndexError, "%s: dim is %lld: expected %lld to %lld", function, dim, -rank,
                rank - 1);
}

void bind_tensor(nb::module_ &m) {
    auto type =
        nb::class_<Tensor>(m, "Tensor", nb::is_weak_referenceable(), nb::type_slots(tensor_slots()))
            .def(nb::init<const Tensor &>(), "underlying"_a)
            .def_prop_ro("shape", size_of)
            .def_prop_ro("dtype",
                         [](const Tensor &t) { return nb::borrow(dtype_object(t->dtype())); })
            .def_prop_ro("device",
                         [](const Tensor &t) { return nb::borrow(device_object(t->device())); })
            .def_prop_ro("ndim", [](const Tensor &t) { return t->ndim(); })
            .def_prop_ro("itemsize", [](const Tensor &t) { return t->element_size(); })
            .def_prop_ro("nbytes", [](const Tensor &t) { return t->nbytes(); })
            .def("stride", strides_of, "dim"_a.none() = nb::none())
            .def("dim", [](const Tensor &t) { return t->ndim(); })
            .def("numel", [](const Tensor &t) { return t->numel(); })
            .def("element_size", [](const Tensor &t) { return t->element_size(); })
            .def("storage_offset", [](const Tensor &t) { return t->offset() / t->element_size(); })
            .def("is_contiguous", [](const Tensor &t) { return t->is_contiguous(); })
            .def("is_pinned", [](const Tensor &t) { return t->is_pinned(); })
            .def("data_ptr",
                 [](const Tensor &t) { return reinterpret_cast<uintptr_t>(t->data_to_write()); })
            .def_prop_ro("_role", role_of)
            .def_prop_ro(
                "_memory",
                [](const Tensor &t) { return reinterpret_cast<uintptr_t>(t->memory().get()); })
            .def_prop_ro("_offset", [](const Tensor &t) { return t->offset(); })
            .def_prop_ro("_memory_size", [](const Tensor &t) { return t->memory()->size(); })
            .def_prop_ro("_info", [](const Tensor &t) { return t->info(); });
    tensor_type = reinterpret_cast<PyTypeObject *>(nb::object(type).release().ptr());
    m.def("_set_types", set_types, "dtypes"_a, "size"_a, "device"_a);
}

}  // namespace infini::python
