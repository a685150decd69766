// Graphs: what was recorded, to look at and to run.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <unordered_map>

#include "graph_state.h"
#include "tensor_object.h"

using namespace nanobind::literals;

namespace infini::python {
namespace {

using infinicore::graph::Graph;
namespace core = infinicore::detail;

// (address of the memory, offset, dtype, shape, strides, written)
nb::object describe_place(const core::Node &node, size_t at) {
    const core::Place &place = node.places[at];
    const core::Step::Argument &argument = node.step->arguments[at];
    if (!place.memory) return nb::none();
    nb::object dtype = nb::none(), shape = nb::none(), strides = nb::none();
    if (argument.tensor >= 0) {
        const core::Layout &layout = node.step->tensors[size_t(argument.tensor)];
        dtype = nb::borrow(dtype_object(layout.dtype));
        nb::list sizes, steps;
        for (int64_t size : layout.shape) sizes.append(size);
        for (int64_t stride : layout.strides) steps.append(stride);
        shape = nb::tuple(sizes);
        strides = nb::tuple(steps);
    }
    return nb::make_tuple(reinterpret_cast<uintptr_t>(place.memory.get()), place.offset, dtype,
                          shape, strides, argument.written);
}

nb::list describe_nodes(const std::vector<core::Node> &nodes) {
    nb::list made;
    for (const core::Node &node : nodes) {
        nb::list places;
        for (size_t i = 0; i < node.places.size(); ++i) places.append(describe_place(node, i));
        nb::object origin = nb::none();
        if (node.step && node.step->origin)
            origin =
                nb::borrow(static_cast<PyObject *>(const_cast<void *>(node.step->origin.get())));
        made.append(
            nb::make_tuple(node.step ? node.step->name : std::string("operator"), places, origin));
    }
    return made;
}

// A tensor over the memory that a node of the graph uses.
nb::object tensor_at(const Graph &graph, size_t node, size_t place, bool recorded) {
    const auto &nodes = recorded ? graph.state().recorded : graph.state().nodes;
    if (node >= nodes.size() || place >= nodes[node].places.size())
        throw nb::index_error("tensor_at: the graph has no such node or argument");
    const core::Node &one = nodes[node];
    const core::Place &at = one.places[place];
    const int index = one.step->arguments.at(place).tensor;
    if (!at.memory || index < 0) return nb::none();
    const core::Layout &layout = one.step->tensors[size_t(index)];
    return wrap(Tensor(
        std::make_shared<TensorImpl>(Shape(layout.shape.begin(), layout.shape.end()),
                                     Strides(layout.strides.begin(), layout.strides.end()),
                                     layout.dtype, infinicore::TensorData{at.offset, at.memory})));
}

// A capture may wait for other ranks, which are threads that need the lock; and the end of a graph
// for its last run, in which others take part.
std::shared_ptr<Graph> stop_graph_recording() {
    std::shared_ptr<Graph> made;
    {
        Unlocked released;
        made = infinicore::context::stopGraphRecording();
    }
    Graph *graph = made.get();
    return {graph, [made = std::move(made)](Graph *) mutable {
                Unlocked released;
                made.reset();
            }};
}

}  // namespace

void bind_graph(nb::module_ &m) {
    nb::class_<Graph>(m, "Graph")
        .def("run", &Graph::run, nb::call_guard<Unlocked>())
        .def(
            "run_node",
            [](const Graph &graph, size_t index) {
                if (index >= graph.state().nodes.size())
                    throw nb::index_error("run_node: the graph has no such node");
                graph.state().run_node(index);
            },
            nb::call_guard<Unlocked>())
        .def_prop_ro("nodes", [](const Graph &g) { return describe_nodes(g.state().nodes); })
        .def_prop_ro("recorded", [](const Graph &g) { return describe_nodes(g.state().recorded); })
        .def("tensor_at", tensor_at, "node"_a, "place"_a, "recorded"_a = false)
        .def_prop_ro("constants",
                     [](const Graph &g) {
                         nb::list made;
                         for (const auto &memory : g.state().constants)
                             made.append(reinterpret_cast<uintptr_t>(memory.get()));
                         return made;
                     })
        .def_prop_ro("outputs",
                     [](const Graph &g) {
                         nb::list made;
                         for (auto [node, place] : g.state().outputs)
                             made.append(nb::make_tuple(node, place));
                         return made;
                     })
        .def_prop_ro(
            "segments",
            [](const Graph &g) {
                nb::list made;  // (first node, behind the last, captured, why not)
                for (const auto &segment : g.state().segments())
                    made.append(nb::make_tuple(segment.begin, segment.end,
                                               segment.captured != nullptr, segment.reason));
                return made;
            })
        .def_prop_ro("arena_bytes", [](const Graph &g) { return g.state().arena_bytes; })
        .def_prop_ro("unshared_bytes", [](const Graph &g) { return g.state().unshared_bytes; });
    m.def("stop_graph_recording", stop_graph_recording);
}

}  // namespace infini::python
