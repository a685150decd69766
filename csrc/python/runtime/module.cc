// The extension module infinicore._rt: the C API by its names, and the base of infinicore.rt's
// classes.
#include "bindings.h"
#include "owner.h"

NB_MODULE(_rt, m) {
    using namespace infini::python;
    // Objects may outlive the module at exit, held by other libraries; that is no reason for a
    // warning there.
    nb::set_leak_warnings(false);
    bind_generated(m);
    nb::list names;
    for (nb::handle name : nb::object(m.attr("__dict__")).attr("keys")())
        if (nb::cast<std::string>(name)[0] != '_') names.append(name);
    m.attr("__all__") = names;
    bind_owner(m);
    bind_block(m);
    bind_kinds(m);
    bind_callbacks(m);
    bind_pending(m);
}
