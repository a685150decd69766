// Graphs for C.
#include <new>
#include <stdexcept>
#include <string>

#include "graph_state.h"
#include "infini/graph.h"

struct InfiniGraph {
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

void require(const void *pointer, const char *name) {
    if (!pointer)
        throw std::invalid_argument(std::string(name) + " is null: expected a valid pointer");
}

void fill(const std::vector<NamedTensor> &tensors, size_t index, infiniGraphTensor *to) {
    require(to, "tensor");
    if (to->size < sizeof *to)
        throw std::invalid_argument("tensor->size is " + std::to_string(to->size) +
                                    ": expected sizeof(infiniGraphTensor)");
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
           each.tensor->data()};
}

}  // namespace

infiniStatus_t infiniGraphLoad(infiniGraph_t *graph, const char *path, infiniDevice_t device,
                               int device_index) {
    return guarded("infiniGraphLoad", [&] {
        require(graph, "graph");
        require(path, "path");
        const infinicore::Device where{infinicore::Device::Type(device), size_t(device_index)};
        auto made = std::make_unique<InfiniGraph>();
        made->graph = infinicore::graph::Graph::load(path, where);
        made->runtime = &infinicore::detail::runtime_of(where, "infiniGraphLoad");
        *graph = made.release();
    });
}

infiniStatus_t infiniGraphDestroy(infiniGraph_t graph) {
    return guarded("infiniGraphDestroy", [&] {
        require(graph, "graph");
        delete graph;
    });
}

infiniStatus_t infiniGraphGetInputCount(infiniGraph_t graph, size_t *count) {
    return guarded("infiniGraphGetInputCount", [&] {
        require(graph, "graph");
        require(count, "count");
        *count = graph->graph->inputs().size();
    });
}

infiniStatus_t infiniGraphGetInput(infiniGraph_t graph, size_t index, infiniGraphTensor *tensor) {
    return guarded("infiniGraphGetInput", [&] {
        require(graph, "graph");
        fill(graph->graph->inputs(), index, tensor);
    });
}

infiniStatus_t infiniGraphGetOutputCount(infiniGraph_t graph, size_t *count) {
    return guarded("infiniGraphGetOutputCount", [&] {
        require(graph, "graph");
        require(count, "count");
        *count = graph->graph->outputs().size();
    });
}

infiniStatus_t infiniGraphGetOutput(infiniGraph_t graph, size_t index, infiniGraphTensor *tensor) {
    return guarded("infiniGraphGetOutput", [&] {
        require(graph, "graph");
        fill(graph->graph->outputs(), index, tensor);
    });
}

infiniStatus_t infiniGraphRun(infiniGraph_t graph) {
    return guarded("infiniGraphRun", [&] {
        require(graph, "graph");
        infinicore::detail::DeviceScope scope(*graph->runtime);
        graph->graph->run();
    });
}

infiniStatus_t infiniGraphSynchronize(infiniGraph_t graph) {
    return guarded("infiniGraphSynchronize", [&] {
        require(graph, "graph");
        infinicore::detail::DeviceScope scope(*graph->runtime);
        infinicore::context::syncStream();
    });
}
