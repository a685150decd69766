#include "explain.h"

#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

PyObject *error_hook = nullptr;

nb::object given_arguments(PyObject *const *args, size_t count) {
    nb::object made = nb::steal(PyTuple_New(Py_ssize_t(count)));
    for (size_t i = 0; made.is_valid() && i < count; ++i)
        PyTuple_SetItem(made.ptr(), Py_ssize_t(i), nb::borrow(args[i]).release().ptr());
    return made;
}

}  // namespace

void explain_error(PyObject *function, PyObject *const *args, size_t flags, PyObject *keywords) {
    if (!error_hook) return;
    nb::python_error error;  // takes the exception that is set
    nb::object value = nb::borrow(error.value());
    if (error.traceback().is_valid())
        PyException_SetTraceback(value.ptr(), error.traceback().ptr());
    const size_t named = keywords ? size_t(PyTuple_Size(keywords)) : 0;
    nb::object given = given_arguments(args, size_t(PyVectorcall_NARGS(flags)) + named);
    PyObject *found = given.is_valid() ? PyObject_CallFunctionObjArgs(
                                             error_hook, function, value.ptr(), given.ptr(),
                                             keywords ? keywords : Py_None, nullptr)
                                       : nullptr;
    if (!found && PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return;                 // e.g. an interrupt
    if (!found) PyErr_Clear();  // the original error is more useful than one about explaining it
    nb::object other = nb::steal(found);
    if (!found || other.is(value))
        error.restore();
    else
        PyErr_SetObject((PyObject *)Py_TYPE(found), found);
}

void bind_explain(nb::module_ &m) {
    m.def(
        "set_explainer",
        [](nb::object given) {
            Py_XDECREF(error_hook);
            error_hook = given.release().ptr();
        },
        "hook"_a);
}

}  // namespace infini::python
