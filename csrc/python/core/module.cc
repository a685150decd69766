#include "../../core/out_of_memory.h"
#include "infini/ext.h"
#include "plan.h"
#include "tensor_object.h"

NB_MODULE(_core, m) {
    using namespace infini::python;
    m.doc() = "Tensors, functions and graphs. See infinicore.";
    nanobind::register_exception_translator([](const std::exception_ptr &thrown, void *) {
        try {
            std::rethrow_exception(thrown);
        } catch (const infinicore::detail::OutOfMemory &error) {
            PyErr_SetString(PyExc_MemoryError, error.what());
        }
    });
    bind_tensor(m);
    bind_views(m);
    bind_indexing(m);
    bind_exchange(m);
    bind_lending(m);
    bind_host(m);
    bind_index_check(m);
    bind_selection(m);
    bind_events(m);
    bind_functions(m);
    bind_other_names(m);
    bind_explain(m);
    bind_generators(m);
    bind_context(m);
    bind_graph(m);
    bind_profile(m);
    bind_steps(m);
    bind_python_steps(m);
    bind_view(m);
    bind_plan(m);
    bind_collectives(m);
    bind_conversions(m);
    // Constants and caches of functions live as long as the process.
    nanobind::set_leak_warnings(false);
}
