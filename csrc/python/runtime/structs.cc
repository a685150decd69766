#include "structs.h"

#include "raise_error.h"

namespace infini::python {
namespace {

nb::object struct_repr(nb::handle self) {
    nb::str text(self.type().attr("__name__"));
    nb::list parts;
    for (nb::handle name : self.type().attr("_fields_"))
        parts.append(nb::str("{}={!r}").format(name, self.attr(name)));
    return text + nb::str("(") + nb::str(", ").attr("join")(parts) + nb::str(")");
}

// Copies and pickles, so that opaque handles can be sent between processes. nanobind functions
// cannot be pickled themselves, but calls by name can.
nb::object struct_reduce(nb::handle self) {
    nb::object call = nb::module_::import_("operator").attr("methodcaller");
    return nb::make_tuple(call("from_bytes", self.attr("__bytes__")()),
                          nb::make_tuple(self.type()));
}

void set_fields(nb::handle self, const nb::kwargs &fields) {
    for (auto [name, value] : fields) {
        if (PyObject_HasAttr(self.ptr(), name.ptr()) == 0) {
            PyErr_Format(PyExc_TypeError, "%U has no field %R; it has %R",
                         nb::str(self.type().attr("__name__")).ptr(), name.ptr(),
                         nb::object(self.type().attr("_fields_")).ptr());
            throw nb::python_error();
        }
        nb::setattr(self, name, value);
    }
}

nb::object make_struct(nb::handle cls, const void *bytes) {
    nb::object made = nb::inst_alloc(cls);
    nb::inst_zero(made);
    std::memcpy(nb::inst_ptr<char>(made), bytes, nb::type_size(cls));
    return made;
}

}  // namespace

void add_struct_methods(nb::handle type, const char *name,
                        std::initializer_list<const char *> fields, const void *initial) {
    // Casts every struct to one class: otherwise `def` would be compiled once per struct.
    auto cls = nb::borrow<nb::class_<dim3>>(type);
    cls.def(nb::new_([type, initial](const nb::kwargs &values) {
        nb::object made = make_struct(type, initial);
        set_fields(made, values);
        return made;
    }));
    nb::list names;
    for (const char *field : fields) names.append(nb::str(field));
    cls.attr("_fields_") = nb::tuple(names);
    cls.def("__repr__", [](nb::handle self) { return struct_repr(self); });
    cls.def("__bytes__", [type](nb::handle self) {
        const Place whole{type, 0};
        return nb::bytes(&whole.of<char>(self), nb::type_size(type));
    });
    cls.def_static(
        "from_bytes",
        [type, name](const nb::bytes &data) {
            if (data.size() != nb::type_size(type))
                raise_error(PyExc_ValueError, "%s: expected %zu bytes, got %zu", name,
                            nb::type_size(type), data.size());
            return make_struct(type, data.data());
        },
        nb::arg("data"));
    cls.def("__reduce__", [](nb::handle self) { return struct_reduce(self); });
}

}  // namespace infini::python
