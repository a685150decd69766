// Aliases of parameter names for functions in Python: a callable that renames keywords, forwards
// its arguments and raises its own errors. `Function` does the same for traced functions.
#include "other_names.h"

#include <structmember.h>

#include <cstring>

#include "explain.h"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

struct Renaming {
    PyObject_HEAD vectorcallfunc vectorcall;
    PyObject *dict;
    PyObject *inner;
    PyObject *parameters;  // a tuple of the parameters' names
};

bool has_parameter(const Renaming &self, const char *name) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(self.parameters); ++i)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GetItem(self.parameters, i), name) == 0)
            return true;
    return false;
}

bool is_parameter(const Renaming &self, PyObject *keyword) {
    for (Py_ssize_t i = 0; i < PyTuple_Size(self.parameters); ++i) {
        PyObject *name = PyTuple_GetItem(self.parameters, i);
        if (name == keyword || PyUnicode_Compare(name, keyword) == 0) return true;
    }
    return false;
}

// The keywords renamed to the parameters' names; null: an exception is set.
PyObject *renamed(const Renaming &self, PyObject *keywords) {
    const Py_ssize_t count = PyTuple_Size(keywords);
    PyObject *made = nullptr;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject *keyword = PyTuple_GetItem(keywords, i);
        if (is_parameter(self, keyword)) continue;
        const auto has = [&](const char *name) { return has_parameter(self, name); };
        const char *meant = meant_parameter(keyword, has);
        if (!meant) continue;  // the function reports it
        for (Py_ssize_t k = 0; k < count; ++k) {
            PyObject *other = PyTuple_GetItem(made ? made : keywords, k);
            if (PyUnicode_CompareWithASCIIString(other, meant) != 0) continue;
            PyErr_Format(PyExc_TypeError, "%S: got several values for argument '%s': '%U' is one",
                         nb::str(nb::handle(self.inner).attr("__name__")).ptr(), meant, keyword);
            Py_XDECREF(made);
            return nullptr;
        }
        if (!made) {
            made = PyTuple_New(count);
            for (Py_ssize_t k = 0; made && k < count; ++k)
                PyTuple_SetItem(made, k, Py_NewRef(PyTuple_GetItem(keywords, k)));
            if (!made) return nullptr;
        }
        PyTuple_SetItem(made, i, PyUnicode_InternFromString(meant));
    }
    return made ? made : Py_NewRef(keywords);
}

PyObject *call_renaming(PyObject *object, PyObject *const *args, size_t flags, PyObject *keywords) {
    const auto &self = *reinterpret_cast<Renaming *>(object);
    PyObject *names = keywords ? renamed(self, keywords) : nullptr;
    if (keywords && !names) return nullptr;
    PyObject *result = PyObject_Vectorcall(self.inner, args, flags, names);
    if (!result) [[unlikely]]
        explain_error(object, args, flags, names);
    Py_XDECREF(names);
    return result;
}

PyObject *bind_renaming(PyObject *self, PyObject *object, PyObject *) {
    if (!object || object == Py_None) return Py_NewRef(self);
    static PyObject *method_type = nullptr;
    if (!method_type)
        method_type = nb::object(nb::module_::import_("types").attr("MethodType")).release().ptr();
    return PyObject_CallFunctionObjArgs(method_type, self, object, nullptr);
}

PyObject *represent_renaming(PyObject *self) {
    return PyObject_Repr(reinterpret_cast<Renaming *>(self)->inner);
}

int traverse_renaming(PyObject *object, visitproc visit, void *arg) {
    auto *self = reinterpret_cast<Renaming *>(object);
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->dict);
    Py_VISIT(self->inner);
    return 0;
}

int clear_renaming(PyObject *object) {
    Py_CLEAR(reinterpret_cast<Renaming *>(object)->dict);
    return 0;
}

void forget_renaming(PyObject *object) {
    PyObject_GC_UnTrack(object);
    auto *self = reinterpret_cast<Renaming *>(object);
    Py_XDECREF(self->dict);
    Py_XDECREF(self->inner);
    Py_XDECREF(self->parameters);
    PyTypeObject *type = Py_TYPE(object);
    auto free_object = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
    free_object(object);
    Py_DECREF(reinterpret_cast<PyObject *>(type));
}

PyMemberDef renaming_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Renaming, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(Renaming, dict), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(Renaming, inner), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef renaming_attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot renaming_slots[] = {{Py_tp_call, reinterpret_cast<void *>(PyVectorcall_Call)},
                                {Py_tp_dealloc, reinterpret_cast<void *>(forget_renaming)},
                                {Py_tp_traverse, reinterpret_cast<void *>(traverse_renaming)},
                                {Py_tp_clear, reinterpret_cast<void *>(clear_renaming)},
                                {Py_tp_repr, reinterpret_cast<void *>(represent_renaming)},
                                {Py_tp_descr_get, reinterpret_cast<void *>(bind_renaming)},
                                {Py_tp_members, renaming_members},
                                {Py_tp_getset, renaming_attributes},
                                {0, nullptr}};

PyType_Spec renaming_spec = {"infinicore._core.Renaming", sizeof(Renaming), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                                 Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_METHOD_DESCRIPTOR,
                             renaming_slots};

PyObject *renaming_type = nullptr;

nb::object make_renaming(nb::handle function, nb::tuple parameters) {
    auto *type = reinterpret_cast<PyTypeObject *>(renaming_type);
    auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
    auto *made = reinterpret_cast<Renaming *>(allocate(type, 0));
    if (!made) throw nb::python_error();
    made->vectorcall = call_renaming;
    made->inner = nb::borrow(function).release().ptr();
    made->parameters = parameters.release().ptr();
    return nb::steal(reinterpret_cast<PyObject *>(made));
}

}  // namespace

void bind_other_names(nb::module_ &m) {
    renaming_type = PyType_FromSpec(&renaming_spec);
    if (!renaming_type) throw nb::python_error();
    m.attr("Renaming") = nb::borrow(renaming_type);
    m.def("make_renaming", make_renaming, "function"_a, "parameters"_a);
    nb::list others;
    for (const OtherName &each : kOtherNames)
        others.append(nb::make_tuple(each.given, each.parameter));
    m.attr("OTHER_NAMES") = nb::tuple(others);
}

}  // namespace infini::python
