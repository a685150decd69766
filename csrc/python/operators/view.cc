#include "view.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "../runtime/dlpack.h"
#include "../runtime/raise_error.h"
#include "dtypes.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

[[noreturn]] void refuse(PyObject *kind, const char *name, const char *sentence, const char *what) {
    raise_error(kind, "%s: %s %s", name, sentence, what);
}

using dlpack::Exchange;

// Asked once for each type that occurs; the last one is cached.
const Exchange *exchange_of(PyObject *type) {
    static PyObject *known = nullptr;
    static const Exchange *answer = nullptr;
    if (type == known) return answer;
    nb::object capsule = nb::getattr(nb::handle(type), "__dlpack_c_exchange_api__", nb::none());
    const Exchange *found = nullptr;
    if (PyCapsule_IsValid(capsule.ptr(), "dlpack_exchange_api"))
        found = static_cast<const Exchange *>(
            PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
    while (found && found->major > 1) found = found->previous;
    if (found && !found->tensor_from_object) found = nullptr;
    Py_INCREF(type);
    Py_XDECREF(known);
    known = type;
    return answer = found;
}

}  // namespace

// ---- Layouts ------------------------------------------------------------------------------------

void View::set(size_t ndim, const int64_t *shape, const int64_t *strides) {
    dims_.resize(2 * ndim);
    int64_t dense = 1;
    for (size_t i = ndim; i-- > 0;) {
        dims_[i] = shape[i];
        dims_[ndim + i] = strides ? strides[i] : dense;
        dense *= shape[i];
    }
}

void View::set_bytes(size_t ndim, const Py_ssize_t *shape, const Py_ssize_t *strides,
                     Py_ssize_t item, const char *name) {
    std::vector<int64_t> steps(ndim);
    for (size_t i = 0; strides && i < ndim; ++i) {
        if (strides[i] % item)
            refuse(PyExc_ValueError, name, "expected strides of whole elements", "");
        steps[i] = strides[i] / item;
    }
    static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
    set(ndim, reinterpret_cast<const int64_t *>(shape), strides ? steps.data() : nullptr);
}

void View::describe(uintptr_t address, const std::vector<int64_t> &shape, int type,
                    const std::vector<int64_t> *strides, bool is_readonly, nb::object keeper) {
    if (strides && strides->size() != shape.size())
        refuse(PyExc_ValueError, "View", "expected as many strides as sizes", "");
    set(shape.size(), shape.data(), strides ? strides->data() : nullptr);
    data = reinterpret_cast<void *>(address);
    dtype = type;
    readonly = is_readonly;
    owner = std::move(keeper);
}

void View::expand(const View &from, const std::vector<int64_t> &shape, nb::object keeper) {
    size_t ndim = shape.size(), missing = ndim - from.ndim();
    bool fits = from.ndim() <= ndim;
    std::vector<int64_t> steps(ndim);
    for (size_t i = missing; fits && i < ndim; ++i) {
        int64_t size = from.shape()[i - missing];
        fits = size == shape[i] || size == 1;
        steps[i] = size == shape[i] ? from.strides()[i - missing] : 0;
    }
    if (!fits) refuse(PyExc_ValueError, "expand", "the shape does not broadcast", "");
    set(ndim, shape.data(), steps.data());
    data = from.data;
    dtype = from.dtype;
    readonly = true;  // one element at several indices
    foreign = from.foreign;
    device = from.device;
    stream = from.stream;
    owner = std::move(keeper);
}

// ---- Other libraries' tensors -------------------------------------------------------------------

template <class Tensor>
void View::take(const Tensor &tensor, const char *name) {
    foreign = dlpack::is_host(tensor.device.type);
    device = foreign ? -1 : tensor.device.index;
    dtype = dtype_from_dlpack(tensor.type);
    if (!dtype) refuse(PyExc_TypeError, name, "has an element type that operators do not know", "");
    set(size_t(tensor.dimensions), tensor.shape, tensor.strides);
    data = static_cast<char *>(tensor.data) + tensor.byte_offset;
}

bool View::from_exchange(nb::handle source, const char *name) {
    const Exchange *exchange = exchange_of(source.type().ptr());
    if (!exchange) return false;
    dlpack::Tensor tensor;
    if (exchange->tensor_from_object(source.ptr(), &tensor) != 0) {
        PyErr_Clear();
        return false;
    }
    take(tensor, name);
    if (device >= 0 && exchange->current_stream &&
        exchange->current_stream(tensor.device.type, tensor.device.index, &stream) != 0)
        PyErr_Clear();
    owner = nb::borrow(source);
    return true;
}

bool View::from_buffer(nb::handle source, const char *name) {
    if (!PyObject_CheckBuffer(source.ptr())) return false;
    if (PyObject_GetBuffer(source.ptr(), &buffer_, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return false;
    }
    has_buffer_ = true;
    if (buffer_.suboffsets) refuse(PyExc_ValueError, name, "is scattered over memory", "");
    dtype = dtype_from_format(buffer_.format, buffer_.itemsize);
    if (!dtype && (*buffer_.format == '>' || *buffer_.format == '!'))
        refuse(PyExc_TypeError, name,
               "has elements in another byte order than this machine's: convert them first, e.g. "
               "with array.astype(array.dtype.newbyteorder('=')); their format is",
               buffer_.format);
    if (!dtype)
        refuse(PyExc_TypeError, name, "has elements that operators do not know:", buffer_.format);
    set_bytes(size_t(buffer_.ndim), buffer_.shape, buffer_.strides, buffer_.itemsize, name);
    data = buffer_.buf;
    readonly = buffer_.readonly;
    owner = nb::borrow(source);
    return true;
}

// ---- __array_interface__ -------------------------------------------------------------------------

namespace {

[[noreturn]] void refuse_field(PyObject *kind, const char *name, const char *field,
                               nb::handle found, const char *expected) {
    raise_error(kind, "%s: %s of __array_interface__ is %R: expected %s", name, field, found.ptr(),
                expected);
}

nb::handle field_of(nb::handle interface, const char *field, const char *name) {
    PyObject *found = PyDict_GetItemString(interface.ptr(), field);
    if (!found) refuse(PyExc_TypeError, name, "__array_interface__ has no", field);
    return found;
}

std::vector<Py_ssize_t> integers_of(nb::handle given, const char *field, const char *name) {
    constexpr const char *kExpected = "a tuple of integers";
    if (!PyTuple_Check(given.ptr())) refuse_field(PyExc_TypeError, name, field, given, kExpected);
    std::vector<Py_ssize_t> made;
    for (Py_ssize_t i = 0; i < PyTuple_Size(given.ptr()); ++i) {
        PyObject *each = PyTuple_GetItem(given.ptr(), i);
        if (!PyIndex_Check(each)) refuse_field(PyExc_TypeError, name, field, given, kExpected);
        const Py_ssize_t number = PyNumber_AsSsize_t(each, PyExc_OverflowError);
        if (number == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            refuse_field(PyExc_ValueError, name, field, given, "integers of 64 bits");
        }
        made.push_back(number);
    }
    return made;
}

// The bytes from the first element to the last fit into the address range.
bool is_reachable(const std::vector<Py_ssize_t> &sizes, const std::vector<Py_ssize_t> &steps,
                  Py_ssize_t item) {
    Py_ssize_t bytes = item, reach = item;
    for (size_t i = 0; i < sizes.size(); ++i) {
        Py_ssize_t part = 0;
        if (sizes[i] == 0) return true;
        if (__builtin_mul_overflow(bytes, sizes[i], &bytes)) return false;
        if (steps.empty()) continue;
        if (steps[i] == PY_SSIZE_T_MIN || __builtin_mul_overflow(sizes[i] - 1, steps[i], &part) ||
            __builtin_add_overflow(reach, part < 0 ? -part : part, &reach))
            return false;
    }
    return true;
}

// As "<f4": byte order, kind, bytes. Returns the bytes.
Py_ssize_t item_of(const std::string &type, nb::handle given, const char *name) {
    constexpr const char *kExpected = "a type such as '<f4'";
    if (type.size() < 3 || type.size() > 4 || !std::strchr("<>|=", type[0]) ||
        !std::all_of(type.begin() + 2, type.end(), [](char c) { return c >= '0' && c <= '9'; }))
        refuse_field(PyExc_TypeError, name, "typestr", given, kExpected);
    const Py_ssize_t item = std::atoi(type.c_str() + 2);
    if (type[0] == '>' && item > 1)
        refuse_field(PyExc_TypeError, name, "typestr", given,
                     "the byte order of this machine: convert the array first, e.g. with "
                     "array.astype(array.dtype.newbyteorder('='))");
    if (item <= 0 || (type[1] == 'f' && item != 2 && item != 4 && item != 8))
        refuse(PyExc_TypeError, name, "has elements that operators do not know:", type.c_str());
    return item;
}

}  // namespace

bool View::from_array_interface(nb::handle source, const char *name) {
    nb::object found = nb::getattr(source, "__array_interface__", nb::none());
    if (found.is_none()) return false;
    if (!PyDict_Check(found.ptr()))
        raise_error(PyExc_TypeError, "%s: __array_interface__ is %R: expected a dict", name,
                    found.ptr());
    const nb::handle typestr = field_of(found, "typestr", name);
    if (!PyUnicode_Check(typestr.ptr()))
        refuse_field(PyExc_TypeError, name, "typestr", typestr, "a type such as '<f4'");
    const auto type = nb::cast<std::string>(typestr);
    const Py_ssize_t item = item_of(type, typestr, name);
    if (type[1] == 'V') {
        nb::object given = nb::getattr(source, "dtype", nb::none());
        dtype = dtype_from_numpy(nb::cast<std::string>(nb::str(nb::getattr(given, "name", given))));
    } else if (type[1] == 'i' || type[1] == 'u') {
        dtype = dtype_of_integer(item, type[1] == 'i');
    } else {
        char kind = type[1] == 'b' ? '?' : item == 2 ? 'e' : item == 4 ? 'f' : 'd';
        char format[] = {type[1] == 'c' ? 'Z' : kind, type[1] == 'c' ? 'x' : '\0', '\0'};
        dtype = std::strchr("fbc", type[1]) ? dtype_from_format(format, item) : 0;
    }
    if (!dtype)
        refuse(PyExc_TypeError, name, "has elements that operators do not know:", type.c_str());
    if (PyObject *mask = PyDict_GetItemString(found.ptr(), "mask"); mask && mask != Py_None)
        refuse(PyExc_TypeError, name, "has a mask in __array_interface__:", "expected none");

    const nb::handle shape = field_of(found, "shape", name);
    const std::vector<Py_ssize_t> sizes = integers_of(shape, "shape", name);
    if (std::any_of(sizes.begin(), sizes.end(), [](Py_ssize_t size) { return size < 0; }))
        refuse_field(PyExc_ValueError, name, "shape", shape, "sizes of 0 or more");
    std::vector<Py_ssize_t> steps;
    PyObject *strides = PyDict_GetItemString(found.ptr(), "strides");
    const bool has_strides = strides && strides != Py_None;
    if (has_strides) steps = integers_of(strides, "strides", name);
    if (has_strides && steps.size() != sizes.size())
        refuse_field(PyExc_ValueError, name, "strides", strides, "as many as the sizes of shape");
    if (!is_reachable(sizes, steps, item))
        refuse_field(PyExc_ValueError, name, has_strides ? "strides" : "shape",
                     has_strides ? nb::handle(strides) : shape, "no more bytes than memory has");
    set_bytes(sizes.size(), sizes.data(), has_strides ? steps.data() : nullptr, item, name);

    const nb::handle where = field_of(found, "data", name);
    if (!PyTuple_Check(where.ptr()) || PyTuple_Size(where.ptr()) != 2 ||
        !PyLong_Check(PyTuple_GetItem(where.ptr(), 0)))
        refuse_field(PyExc_TypeError, name, "data", where,
                     "a tuple of an address and whether it is read-only");
    data = reinterpret_cast<void *>(PyLong_AsSize_t(PyTuple_GetItem(where.ptr(), 0)));
    if (PyErr_Occurred()) {
        PyErr_Clear();
        refuse_field(PyExc_ValueError, name, "data", where, "an address of 64 bits");
    }
    if (!data && std::none_of(sizes.begin(), sizes.end(), [](Py_ssize_t s) { return s == 0; }))
        refuse_field(PyExc_ValueError, name, "data", where, "an address that is not null");
    const int is_readonly = PyObject_IsTrue(PyTuple_GetItem(where.ptr(), 1));
    if (is_readonly < 0) throw nb::python_error();
    readonly = is_readonly;
    owner = nb::borrow(source);
    return true;
}

// ---- DLPack -------------------------------------------------------------------------------------

bool View::from_capsule(nb::handle source, const char *name) {
    if (!nb::hasattr(source, "__dlpack__")) return false;
    nb::object capsule;
    try {
        capsule = source.attr("__dlpack__")("max_version"_a = nb::make_tuple(1, 0));
    } catch (nb::python_error &error) {
        if (!error.matches(PyExc_TypeError)) throw;
        capsule = source.attr("__dlpack__")();  // a producer that predates the versions
    }
    // The capsule stays unused and so ends the loan itself.
    if (auto *lent = static_cast<dlpack::ManagedVersioned *>(
            PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned")
                ? PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned")
                : nullptr)) {
        take(lent->tensor, name);
        readonly = lent->flags & dlpack::kReadOnly;
    } else {
        auto *old = static_cast<dlpack::Managed *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
        if (!old) throw nb::python_error();
        take(old->tensor, name);
    }
    owner = std::move(capsule);
    return true;
}

void View::inspect(nb::handle source, const char *name) {
    if (from_exchange(source, name) || from_buffer(source, name) ||
        from_array_interface(source, name) || from_capsule(source, name))
        return;
    raise_error(
        PyExc_TypeError,
        "%s: expected a tensor (DLPack, the buffer protocol or __array_interface__), got %S", name,
        nb::handle(source.type()).ptr());
}

bool View::try_inspect(nb::handle source) {
    if (source.is_none()) return false;
    try {
        inspect(source, "");
        return true;
    } catch (nb::python_error &) {
        return false;
    }
}

// ---- Python -------------------------------------------------------------------------------------

namespace {

nb::object tuple_of(const int64_t *values, size_t count) {
    nb::object made = nb::steal(PyTuple_New(Py_ssize_t(count)));
    for (size_t i = 0; i < count; ++i)
        PyTuple_SetItem(made.ptr(), Py_ssize_t(i), PyLong_FromLongLong(values[i]));
    return made;
}

std::vector<int64_t> numbers(nb::handle sequence) {
    std::vector<int64_t> made;
    for (nb::handle item : sequence) made.push_back(nb::cast<int64_t>(item));
    return made;
}

// Constructed in place: a view must not move, because its buffer points into it.
nb::object new_view(View *&view) {
    nb::object made = nb::inst_alloc(nb::type<View>());
    view = nb::inst_ptr<View>(made);
    new (view) View();
    nb::inst_mark_ready(made);
    return made;
}

nb::object view_of(nb::handle source, const char *name) {
    if (nb::isinstance<View>(source)) return nb::borrow(source);
    View *view;
    nb::object made = new_view(view);
    view->inspect(source, name);
    return made;
}

nb::object described(nb::handle shape, const char *dtype, nb::handle strides, uintptr_t address,
                     bool readonly, nb::object owner) {
    int code = dtype_of(dtype);
    if (!code) refuse(PyExc_ValueError, "View", "there is no element type", dtype);
    std::vector<int64_t> steps;
    if (!strides.is_none()) steps = numbers(strides);
    View *view;
    nb::object made = new_view(view);
    view->describe(address, numbers(shape), code, strides.is_none() ? nullptr : &steps, readonly,
                   std::move(owner));
    view->foreign = false;
    return made;
}

nb::object expanded(nb::handle self, nb::handle shape) {
    View *view;
    nb::object made = new_view(view);
    view->expand(nb::cast<View &>(self), numbers(shape), nb::borrow(self));
    return made;
}

}  // namespace

void bind_view(nb::module_ &m) {
    nb::class_<View>(m, "View")
        .def_prop_ro("shape", [](const View &v) { return tuple_of(v.shape(), v.ndim()); })
        .def_prop_ro("strides", [](const View &v) { return tuple_of(v.strides(), v.ndim()); })
        .def_prop_ro("dtype", [](const View &v) { return name_of(v.dtype); })
        .def_prop_ro("ptr", [](const View &v) { return reinterpret_cast<uintptr_t>(v.data); })
        .def_prop_ro("owner",
                     [](const View &v) { return v.owner.is_valid() ? v.owner : nb::none(); })
        .def_ro("readonly", &View::readonly)
        .def("expand", expanded, "shape"_a);
    m.def("view", view_of, "tensor"_a, "name"_a = "tensor");
    m.def("described", described, "shape"_a, "dtype"_a, "strides"_a.none() = nb::none(),
          "address"_a = 0, "readonly"_a = false, "owner"_a.none() = nb::none());
}

}  // namespace infini::python
