// infinicore._op: operators from Python. What they are is generated: calls.cc, infinicore/op.
#include <nanobind/nanobind.h>

#include <cstdlib>

#include "infini/op_ext.h"
#include "plan.h"

NB_MODULE(_op, m) {
    using namespace infini::python;
    nb::set_leak_warnings(false);  // the interpreter may end before the last tensor
    bind_view(m);
    bind_plan(m);
    nb::list names;
    for (int i = 0; i < kRowCount; ++i) names.append(kRows[i].name);
    m.attr("names") = names;
    // Results that a run function has allocated in memory of the host: by new[], or by malloc.
    m.def("free_host", [](uintptr_t address, bool by_new) {
        if (by_new)
            delete[] reinterpret_cast<int64_t *>(address);
        else
            std::free(reinterpret_cast<void *>(address));
    });
    m.def("plan_cache_counts", [] {
        size_t kept, hits, misses;
        infiniopGetPlanCacheCounts(&kept, &hits, &misses);
        return nb::make_tuple(kept, hits, misses);
    });
}
