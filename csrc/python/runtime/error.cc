#include <cstring>

#include "call.h"

namespace infini::python {

void throw_error(infinirtError_t code) {
    // The message belongs to this thread's last failing call, which is the one that gave the code.
    nb::object type = nb::module_::import_("infinicore.rt._error").attr("InfiniRTError");
    nb::object error = type(static_cast<int>(code), infinirtGetErrorName(code),
                            nb::str(infiniGetLastErrorMessage()));
    PyErr_SetObject(type.ptr(), error.ptr());
    throw nb::python_error();
}

void check_status(infiniStatus_t status) {
    if (status == INFINI_STATUS_SUCCESS) return;
    infinirtError_t code = infinirtGetLastError();
    throw_error(code == infinirtSuccess ? infinirtErrorUnknown : code);
}

}  // namespace infini::python
