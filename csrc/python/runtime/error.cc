#include <cstring>

#include "call.h"

namespace infini::python {

void throw_error(infinirtError_t code) {
    // Left behind by a collective: its own error, as the reads of tensors raise it.
    if (code == infinirtErrorExternalDevice) {
        nb::object type = nb::module_::import_("infinicore.ccl").attr("CclError");
        nb::object error = type(int(INFINI_STATUS_INTERNAL_ERROR), infiniGetLastErrorMessage());
        PyErr_SetObject(type.ptr(), error.ptr());
        throw nb::python_error();
    }
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
