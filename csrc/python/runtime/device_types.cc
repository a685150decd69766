// Device types and back ends: infini/ext.h.
#include "owner.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

// (name, vendor, version, path, reason, devices, number of the kind) of every back end found.
nb::list backends() {
    nb::list list;
    int count = infinirtGetBackendCount();
    for (int i = 0; i < count; ++i) {
        infinirtBackendInfo info{};
        info.size = sizeof info;
        check_status(infinirtGetBackendInfo(i, &info));
        list.append(nb::make_tuple(info.name, info.vendor, info.version, info.path, info.reason,
                                   info.device_count, info.device_type));
    }
    return list;
}

// Empty, or why the back end has no device. A back end that is already open is queried, too.
std::string load_backend(const char *path) {
    return infinirtLoadBackend(path) == INFINI_STATUS_SUCCESS ? "" : infiniGetLastErrorMessage();
}

}  // namespace

void bind_kinds(nb::module_ &m) {
    m.def("_backends", backends);
    m.def("_load_backend", load_backend, "path"_a);
    m.def("_kind", [] { return infinirtGetDeviceKind(); });
    m.def(
        "_set_kind", [](const char *kind) { check_status(infinirtSetDeviceKind(kind)); }, "kind"_a);
    m.def("_last_error_message", [] { return infiniGetLastErrorMessage(); });
}

}  // namespace infini::python
