// Sequences of random numbers.
#include "generator.h"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {

void bind_generators(nb::module_ &m) {
    using infinicore::detail::Generator;
    nb::class_<Generator>(m, "RandomSequence")
        .def(nb::init<uint64_t>(), "seed"_a)
        .def_prop_ro("seed", &Generator::seed)
        .def_prop_ro("taken", &Generator::taken)
        .def("restart", &Generator::restart, "seed"_a, "taken"_a = 0);
    m.def(
        "default_sequence", [] { return &infinicore::detail::default_generator(); },
        nb::rv_policy::reference);
    // The caller keeps the sequence alive, and calls this again with None.
    m.def("draw_from", infinicore::detail::set_thread_generator, "sequence"_a.none());
}

}  // namespace infini::python
