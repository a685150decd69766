#include "structs.h"

namespace infini::python {

nb::object struct_repr(nb::handle self) {
    nb::str text(self.type().attr("__name__"));
    nb::list parts;
    for (nb::handle name : self.type().attr("_fields_"))
        parts.append(nb::str("{}={!r}").format(name, self.attr(name)));
    return text + nb::str("(") + nb::str(", ").attr("join")(parts) + nb::str(")");
}

// Copies and pickles: what makes the opaque handles travel between processes. Functions of nanobind
// cannot be pickled themselves, but calls of their names can.
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

}  // namespace infini::python
