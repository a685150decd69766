// Collectives of recordings, and a fast path for all others: calls that it does not accept are
// checked by infinicore.ccl.
#include "infinicore/collectives.hpp"

#include "collective_call.h"
#include "collective_error.h"
#include "gil.h"
#include "infini/ext.h"
#include "recorder.h"
#include "tensor_object.h"

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

// What a communicator of infinicore.ccl passes to its operations.
struct Caller {
    infinicclComm_t comm;
    int ranks, rank;
    Device device;

    // The C function's status; below 0: nothing has been enqueued, for an unknown reason.
    int run(int kind, nb::handle send, nb::handle recv, int op, int root) const {
        collectives::Collective made{InfiniCollectiveKind(kind), {},  {}, comm,
                                     infinicclReduceOp_t(op),    root};
        if ((!send.is_none() && !is_tensor(send.ptr())) ||
            (!recv.is_none() && !is_tensor(recv.ptr())) || (send.is_none() && recv.is_none()))
            return collectives::kNotEnqueued;
        if (!send.is_none()) made.send = tensor_of(send.ptr());
        if (!recv.is_none()) made.recv = tensor_of(recv.ptr());
        Unlocked released;
        return collectives::enqueue_at_once(made, ranks, rank, device);
    }
};

void set_collective_error(const char *message) {
    nb::object type = nb::module_::import_("infinicore.ccl").attr("CclError");
    nb::object made = type(int(INFINI_STATUS_INTERNAL_ERROR), message);
    PyErr_SetObject(type.ptr(), made.ptr());
}

void translate(const std::exception_ptr &thrown, void *) {
    try {
        std::rethrow_exception(thrown);
    } catch (const collectives::Error &error) {
        set_collective_error(error.what());
    }
}

}  // namespace

void raise_collective_error(const char *function) {
    set_collective_error((std::string(function) + ": " + infiniGetLastErrorMessage()).c_str());
    throw nb::python_error();
}

void bind_collectives(nb::module_ &m) {
    nb::register_exception_translator(translate);
    m.def("collective", collective, "kind"_a, "send"_a.none(), "recv"_a.none(), "comm"_a, "op"_a,
          "root"_a);
    nb::class_<Caller>(m, "CollectiveCaller")
        .def(
            "__init__",
            [](Caller *made, uintptr_t comm, int ranks, int rank, nb::handle device) {
                new (made) Caller{reinterpret_cast<infinicclComm_t>(comm), ranks, rank,
                                  device_from(device)};
            },
            "comm"_a, "ranks"_a, "rank"_a, "device"_a)
        .def("run", &Caller::run, "kind"_a, "send"_a.none(), "recv"_a.none(), "op"_a, "root"_a);
    m.def("start_collective_group", collectives::groupStart);
    m.def("end_collective_group", collectives::groupEnd);
    m.def("drop_collective_group", collectives::drop_group);
}

}  // namespace infini::python
