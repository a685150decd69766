// Recorded graphs, to inspect and to run.
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
nb::object describe_location(const core::Node &node, size_t at) {
    const core::Location &place = node.locations[at];
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
        nb::list locations;
        for (size_t i = 0; i < node.locations.size(); ++i)
            locations.append(describe_location(node, i));
        made.append(
            nb::make_tuple(node.step ? node.step->name : std::string("operator"), locations));
    }
    return made;
}

nb::list named(const std::vector<infinicore::graph::NamedTensor> &tensors) {
    nb::list made;
    for (const auto &each : tensors) made.append(nb::make_tuple(each.name, wrap(each.tensor)));
    return made;
}

Graph::State::Names names_from(nb::dict names) {
    Graph::State::Names made;
    for (auto [name, object] : names)
        if (is_tensor(object.ptr()))
            made.emplace_back(tensor_of(object.ptr()).impl().get(), nb::cast<std::string>(name));
    return made;
}

// A capture may wait for other ranks, which are threads that need the GIL. Destroying a graph waits
// for its last run, in which other ranks take part.
std::shared_ptr<Graph> without_lock(std::shared_ptr<Graph> made) {
    Graph *graph = made.get();
    return {graph, [made = std::move(made)](Graph *) mutable {
                Unlocked released;
                made.reset();
            }};
}

std::shared_ptr<Graph> stop_graph_recording() {
    std::shared_ptr<Graph> made;
    {
        Unlocked released;
        made = infinicore::context::stopGraphRecording();
    }
    return without_lock(std::move(made));
}

std::shared_ptr<Graph> load_graph(const std::string &path, nb::handle device) {
    const Device where = device_from(device);
    std::shared_ptr<Graph> made;
    {
        Unlocked released;
        made = Graph::load(path, where);
    }
    return without_lock(std::move(made));
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
        .def("save", &Graph::save, "path"_a, nb::call_guard<Unlocked>())
        .def_prop_ro("inputs", [](const Graph &g) { return named(g.inputs()); })
        .def_prop_ro("outputs", [](const Graph &g) { return named(g.outputs()); })
        .def(
            "name_inputs",
            [](Graph &g, nb::dict names) { g.state().rename(g.state().inputs, names_from(names)); })
        .def("name_outputs",
             [](Graph &g, nb::dict names) {
                 g.state().rename(g.state().outputs, names_from(names));
             })
        .def_prop_ro("constants",
                     [](const Graph &g) {
                         nb::list made;
                         for (const auto &memory : g.state().constants)
                             made.append(reinterpret_cast<uintptr_t>(memory.get()));
                         return made;
                     })
        .def_prop_ro(
            "segments",
            [](const Graph &g) {
                nb::list made;  // (first node, one past the last, captured, reason if not)
                for (const auto &segment : g.state().segments())
                    made.append(nb::make_tuple(segment.begin, segment.end,
                                               segment.captured != nullptr, segment.reason));
                return made;
            })
        .def_prop_ro("arena_bytes", [](const Graph &g) { return g.state().arena_bytes; })
        .def_prop_ro("unshared_bytes", [](const Graph &g) { return g.state().unshared_bytes; });
    m.def("stop_graph_recording", stop_graph_recording);
    m.def("load_graph", load_graph, "path"_a, "device"_a);
}

}  // namespace infini::python
