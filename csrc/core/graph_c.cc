// Graphs for C.
#include <new>
#include <stdexcept>
#include <string>

#include "../runtime/handles.h"
#include "graph_state.h"
#include "infini/graph.h"

struct InfiniGraph {
    InfiniGraph(std::shared_ptr<infinicore::graph::Graph> graph,
                infinicore::detail::DeviceRuntime *runtime)
        : graph(std::move(graph)), runtime(runtime) {}
    std::shared_ptr<infinicore::graph::Graph> graph;
    infinicore::detail::DeviceRuntime *runtime;
};

namespace {

using infinicore::graph::NamedTensor;

template <class Work>
infiniStatus_t guarded(const char *function, const Work &work) noexcept try {
    work();
    return INFINI_STATUS_SUCCESS;
} catch (const std::bad_alloc &) {
    return infiniRecordFailure(function, INFINI_STATUS_INTERNAL_ERROR, "host memory ran out");
} catch (const std::invalid_argument &error) {
    return infiniRecordFailure(function, INFINI_STATUS_BAD_PARAM, error.what());
} catch (const std::exception &error) {
    return infiniRecordFailure(function, INFINI_STATUS_INTERNAL_ERROR, error.what());
}

using Graphs = infini::rt::HandleTable<InfiniGraph>;

void require(const void *pointer, size_t bytes, bool write, const char *name) {
    if (!pointer || !infiniIsHostMemory(pointer, bytes, write))
        throw std::invalid_argument(std::string(name) + (pointer ? " points to no" : " is null:") +
                                    (pointer ? " host memory" : " expected a valid pointer"));
}

InfiniGraph &find(infiniGraph_t graph) {
    if (InfiniGraph *found = Graphs::get().find(graph)) return *found;
    throw std::invalid_argument("graph is no graph: expected one that infiniGraphLoad gave");
}

void fill(const std::vector<NamedTensor> &tensors, size_t index, infiniGraphTensor *to) {
    require(to, sizeof to->size, true, "tensor");
    if (to->size < sizeof *to)
        throw std::invalid_argument("tensor->size is " + std::to_string(to->size) +
                                    ": expected sizeof(infiniGraphTensor)");
    require(to, sizeof *to, true, "tensor");
    if (index >= tensors.size())
        throw std::invalid_argument("index is " + std::to_string(index) + ": the graph has " +
                                    std::to_string(tensors.size()));
    const NamedTensor &each = tensors[index];
    static_assert(sizeof(infinicore::Stride) == sizeof(ptrdiff_t));
    *to = {sizeof *to,
           each.name.c_str(),
           infiniDtype_t(each.tensor->dtype()),
           each.tensor->ndim(),
           each.tensor->shape().data(),
           each.tensor->strides().data(),
           each.tensor->nbytes(),
           each.tensor->data_to_write()};
}

}  // namespace

infiniStatus_t infiniGraphLoad(infiniGraph_t *graph, const char *path, infiniDevice_t device,
                               int device_index) {
    return guarded("infiniGraphLoad", [&] {
        require(graph, sizeof *graph, true, "graph");
        require(path, 1, false, "path");
        const infinicore::Device where{infinicore::Device::Type(device), size_t(device_index)};
        auto loaded = infinicore::graph::Graph::load(path, where);
        *graph = Graphs::get().make(std::move(loaded),
                                    &infinicore::detail::runtime_of(where, "infiniGraphLoad"));
        if (!*graph) throw std::runtime_error("too many graphs");
    });
}

infiniStatus_t infiniGraphDestroy(infiniGraph_t graph) {
    return guarded("infiniGraphDestroy", [&] {
        if (!Graphs::get().destroy_once(&find(graph))) find(nullptr);
    });
}

infiniStatus_t infiniGraphGetInputCount(infiniGraph_t graph, size_t *count) {
    return guarded("infiniGraphGetInputCount", [&] {
        require(count, sizeof *count, true, "count");
        *count = find(graph).graph->inputs().size();
    });
}

infiniStatus_t infiniGraphGetInput(infiniGraph_t graph, size_t index, infiniGraphTensor *tensor) {
    return guarded("infiniGraphGetInput",
                   [&] { fill(find(graph).graph->inputs(), index, tensor); });
}

infiniStatus_t infiniGraphGetOutputCount(infiniGraph_t graph, size_t *count) {
    return guarded("infiniGraphGetOutputCount", [&] {
        require(count, sizeof *count, true, "count");
        *count = find(graph).graph->outputs().size();
    });
}

infiniStatus_t infiniGraphGetOutput(infiniGraph_t graph, size_t index, infiniGraphTensor *tensor) {
    return guarded("infiniGraphGetOutput",
                   [&] { fill(find(graph).graph->outputs(), index, tensor); });
}

infiniStatus_t infiniGraphRun(infiniGraph_t graph) {
    return guarded("infiniGraphRun", [&] {
        InfiniGraph &found = find(graph);
        infinicore::detail::DeviceScope scope(*found.runtime);
        found.graph->run();
    });
}

infiniStatus_t infiniGraphSynchronize(infiniGraph_t graph) {
    return guarded("infiniGraphSynchronize", [&] {
        infinicore::detail::DeviceScope scope(*find(graph).runtime);
        infinicore::context::syncStream();
    });
}
