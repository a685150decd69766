#include "convert.h"

#include "owner.h"
#include "raise_error.h"

namespace infini::python {

size_t common_length(const char *first, size_t length, const char *second, size_t other) {
    if (length == other) return length;
    raise_error(PyExc_ValueError, "%s has %zu items and %s has %zu: expected the same number",
                first, length, second, other);
}

void throw_out_of_range(PyObject *source, const char *low, const char *high) {
    PyErr_Clear();
    raise_error(PyExc_OverflowError, "expected an integer from %s to %s, got %R", low, high,
                source);
}

PyObject *index_of(PyObject *source) {
    PyObject *number = PyIndex_Check(source) ? PyNumber_Index(source) : nullptr;
    if (!number) PyErr_Clear();
    return number;
}

bool number_of(PyObject *source, Number what, uintptr_t &value) {
    if (const Owner *owner = Owner::behind(source, what == Number::Address)) {
        value = owner->handle(source);
        return true;
    }
    static PyObject *names[] = {PyUnicode_InternFromString("handle"),
                                PyUnicode_InternFromString("ptr")};
    nb::object attribute = nb::steal(PyObject_GetAttr(source, names[static_cast<int>(what)]));
    if (attribute.is_valid())
        return PyLong_Check(attribute.ptr()) && load_int(attribute.ptr(), value);
    // A closed object says so itself; only a missing attribute means "something else".
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
    PyErr_Clear();
    return false;
}

namespace {

// A NumPy scalar has the buffer protocol too, but its value is meant.
bool is_number(PyObject *source) {
    if (!PyIndex_Check(source)) return false;
    Py_buffer view;
    if (PyObject_GetBuffer(source, &view, PyBUF_FULL_RO) != 0) {
        PyErr_Clear();
        return true;
    }
    bool scalar = view.ndim == 0 && view.readonly;
    PyBuffer_Release(&view);
    return scalar;
}

}  // namespace

template <bool writable>
bool Address<writable>::load(PyObject *source) {
    uintptr_t number = 0;
    if (PyLong_Check(source)) [[likely]] {
        load_int(source, number);
    } else if (source != Py_None && !number_of(source, Number::Address, number)) {
        if (PyObject_CheckBuffer(source) && !is_number(source)) {
            if (PyObject_GetBuffer(source, &view_, writable ? PyBUF_WRITABLE : PyBUF_SIMPLE) != 0)
                throw nb::python_error();
            held_ = true;
            pointer_ = view_.buf;
            return true;
        }
        if (!load_int(source, number)) return false;
    }
    pointer_ = reinterpret_cast<void *>(number);
    return true;
}

template class Address<true>;
template class Address<false>;

nb::object EnumMembers::of(long value) {
    if (!members_) {
        nb::object type = nb::module_::import_("infinicore._rt_enums").attr(name_);
        members_ = nb::object(type.attr("_value2member_map_")).release().ptr();
    }
    nb::object number = nb::int_(value);
    PyObject *member = PyDict_GetItemWithError(members_, number.ptr());
    if (member) return nb::borrow(member);
    if (PyErr_Occurred()) throw nb::python_error();
    return number;
}

}  // namespace infini::python
