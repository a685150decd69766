// Collectives of recordings. Outside of them infinicore.ccl calls libinfiniccl itself.
#include "infinicore/collectives.hpp"

#include "recorder.h"
#include "tensor_object.h"
#include "unlocked.h"

using namespace nanobind::literals;

namespace infini::python {

namespace collectives = infinicore::collectives;

namespace {

Tensor tensor_or_none(nb::handle object) {
    return object.is_none() ? Tensor() : nb::cast<const Tensor &>(object);
}

void collective(int kind, nb::object send, nb::object recv, uintptr_t comm, int op, int root) {
    const collectives::Collective made{
        InfiniCollectiveKind(kind), tensor_or_none(send),
        tensor_or_none(recv),       reinterpret_cast<infinicclComm_t>(comm),
        infinicclReduceOp_t(op),    root};
    Unlocked released;
    collectives::run(made);
}

}  // namespace

void bind_collectives(nb::module_ &m) {
    m.def("collective", collective, "kind"_a, "send"_a.none(), "recv"_a.none(), "comm"_a, "op"_a,
          "root"_a);
    m.def("start_collective_group", collectives::groupStart);
    m.def("end_collective_group", collectives::groupEnd);
    m.def("drop_collective_group", collectives::drop_group);
}

}  // namespace infini::python
