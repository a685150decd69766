// Adding nodes to graphs.
#include "graph_nodes.h"

#include <algorithm>

#include "graph_memory.h"
#include "impl.h"

namespace infini::rt {
namespace {

// Where to add a node: the arguments common to all these functions. graph_mutex() held.
Error find_dependencies(Call &call, const Graph &graph, const infinirtGraphNode_t *handles,
                        size_t count, std::vector<Node *> *nodes) {
    if (count > graph.nodes.size())
        return call.invalid("numDependencies is %zu: the graph has only %zu nodes to depend on",
                            count, graph.nodes.size());
    if (Error error = find_nodes(call, graph, handles, count, "pDependencies", nodes)) return error;
    std::vector<Node *> sorted = *nodes;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
        return call.invalid("pDependencies names a node twice: expected each node once");
    return infinirtSuccess;
}

Error add(Call &call, infinirtGraphNode_t *out, Graph &graph, const infinirtGraphNode_t *handles,
          size_t count, infinirtGraphNodeType type, Device &device, Made made) {
    if (made.error != infinirtSuccess) return made.error;
    GraphLock lock;
    std::vector<Node *> dependencies;
    if (Error error = find_dependencies(call, graph, handles, count, &dependencies)) return error;
    Node *node = add_node(graph, type, device, dependencies);
    if (!node) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
    static_cast<NodeParameters &>(*node) = std::move(made);
    *out = handle_of(node);
    return infinirtSuccess;
}

Error check_movable(Call &call, const Graph &graph, const Graph &child) {
    if (child.owner || child.exec)
        return call.fail(infinirtErrorNotSupported,
                         "the child graph %s: it cannot be moved into a node",
                         child.owner ? "belongs to a node already" : "is instantiated");
    if (is_captured(child))
        return call.fail(infinirtErrorIllegalState,
                         "the child graph is being captured into: it cannot be moved into a node");
    for (const Graph *outer = &graph;; outer = outer->owner->graph) {
        if (outer == &child)
            return call.invalid(
                "the child graph would become part of itself: expected another graph");
        if (!outer->owner) return infinirtSuccess;
    }
}

Error add_child(Call &call, infinirtGraphNode_t *out, Graph &graph,
                const infinirtGraphNode_t *handles, size_t count, Graph &child, bool move) {
    GraphLock lock;
    std::vector<Node *> dependencies;
    if (Error error = find_dependencies(call, graph, handles, count, &dependencies)) return error;
    if (move) {
        if (Error error = check_movable(call, graph, child)) return error;
    } else if (has_memory_nodes(child)) {
        return call.fail(
            infinirtErrorNotSupported,
            "the child graph has nodes that allocate or free memory: such a graph cannot "
            "be copied, only moved (infinirtGraphChildGraphOwnershipMove)");
    }
    // Copied before the node is added: a graph may take in a copy of itself.
    Graph *inside = move ? &child : clone_graph(child);
    Node *node =
        inside ? add_node(graph, infinirtGraphNodeTypeGraph, call.device(), dependencies) : nullptr;
    if (!node) {
        if (inside && !move) delete_graph(inside);
        return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
    }
    node->child = inside;
    inside->owner = node;
    *out = handle_of(node);
    return infinirtSuccess;
}

Error check_access(Call &call, const infinirtMemAllocNodeParams &wanted) {
    if (wanted.accessDescCount > 0 && !wanted.accessDescs)
        return call.invalid("nodeParams.accessDescs is null: expected %zu descriptions",
                            wanted.accessDescCount);
    size_t devices = call.thread.backend->devices.size();
    if (wanted.accessDescCount > devices)
        return call.invalid(
            "nodeParams.accessDescCount is %zu: expected at most one for each of %zu devices",
            wanted.accessDescCount, devices);
    for (size_t i = 0; i < wanted.accessDescCount; ++i) {
        const infinirtMemAccessDesc &each = wanted.accessDescs[i];
        if (each.location.type != infinirtMemLocationTypeDevice || each.location.id < 0 ||
            static_cast<size_t>(each.location.id) >= devices)
            return call.invalid("nodeParams.accessDescs[%zu] names no device: expected one of %zu",
                                i, devices);
    }
    return infinirtSuccess;
}

// Allocates the memory and stores its address in `wanted`.
Error make_allocation(Call &call, infinirtMemAllocNodeParams *wanted, NodeParameters *made,
                      Device **device) {
    const infinirtMemPoolProps &properties = wanted->poolProps;
    if (properties.allocType != infinirtMemAllocationTypePinned)
        return call.invalid(
            "nodeParams.poolProps.allocType is %d: expected infinirtMemAllocationTypePinned",
            static_cast<int>(properties.allocType));
    if (properties.handleTypes != infinirtMemHandleTypeNone)
        return call.fail(
            infinirtErrorNotSupported,
            "nodeParams.poolProps.handleTypes is %d: memory of graphs cannot be exported",
            static_cast<int>(properties.handleTypes));
    if (properties.location.type != infinirtMemLocationTypeDevice)
        return call.fail(
            infinirtErrorNotSupported,
            "nodeParams.poolProps.location.type is %d: graphs allocate on devices only",
            static_cast<int>(properties.location.type));
    auto &devices = call.thread.backend->devices;
    if (properties.location.id < 0 || static_cast<size_t>(properties.location.id) >= devices.size())
        return call.invalid("nodeParams.poolProps.location.id is %d: expected 0 to %zu",
                            properties.location.id, devices.size() - 1);
    if (Error error = check_access(call, *wanted)) return error;
    *device = devices[properties.location.id].get();
    made->memory = reserve_graph_memory(call, **device, wanted->bytesize);
    if (!made->memory) return call.error();
    auto &access = made->memory->access;
    if (wanted->accessDescCount > 0)
        access.assign(wanted->accessDescs, wanted->accessDescs + wanted->accessDescCount);
    made->allocation = *wanted;
    made->allocation.accessDescs = access.empty() ? nullptr : access.data();
    made->allocation.dptr = wanted->dptr = made->memory->base;
    return infinirtSuccess;
}

Error add_allocation(Call &call, infinirtGraphNode_t *out, Graph &graph,
                     const infinirtGraphNode_t *handles, size_t count,
                     infinirtMemAllocNodeParams *wanted) {
    {
        GraphLock lock;
        std::vector<Node *> dependencies;
        if (Error error = find_dependencies(call, graph, handles, count, &dependencies))
            return error;
    }
    Made made;
    Device *device = nullptr;
    if (Error error = make_allocation(call, wanted, &made, &device)) return error;
    return add(call, out, graph, handles, count, infinirtGraphNodeTypeMemAlloc, *device,
               std::move(made));
}

Error add_free(Call &call, infinirtGraphNode_t *out, Graph &graph,
               const infinirtGraphNode_t *handles, size_t count, void *pointer) {
    GraphLock lock;
    std::vector<Node *> dependencies;
    if (Error error = find_dependencies(call, graph, handles, count, &dependencies)) return error;
    Node *node = nullptr;
    if (Error error = add_free_node(call, graph, call.device(), pointer, dependencies, &node))
        return error;
    *out = handle_of(node);
    return infinirtSuccess;
}

}  // namespace

namespace impl {

Error GraphAddMemcpyNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                         const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                         const infinirtMemcpy3DParms *pCopyParams) {
    return add(call, pGraphNode, graph, pDependencies, numDependencies, infinirtGraphNodeTypeMemcpy,
               call.device(), make_memcpy(call, *pCopyParams));
}

Error GraphAddMemcpyNode1D(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                           const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                           void *dst, const void *src, size_t count, infinirtMemcpyKind kind) {
    return add(call, pGraphNode, graph, pDependencies, numDependencies, infinirtGraphNodeTypeMemcpy,
               call.device(), make_memcpy(call, dst, src, count, kind));
}

Error GraphAddMemsetNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                         const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                         const infinirtMemsetParams *pMemsetParams) {
    return add(call, pGraphNode, graph, pDependencies, numDependencies, infinirtGraphNodeTypeMemset,
               call.device(), make_memset(call, *pMemsetParams));
}

Error GraphAddHostNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                       const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                       const infinirtHostNodeParams *pNodeParams) {
    return add(call, pGraphNode, graph, pDependencies, numDependencies, infinirtGraphNodeTypeHost,
               call.device(), make_host(call, pNodeParams->fn, pNodeParams->userData));
}

Error GraphAddEmptyNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                        const infinirtGraphNode_t *pDependencies, size_t numDependencies) {
    return add(call, pGraphNode, graph, pDependencies, numDependencies, infinirtGraphNodeTypeEmpty,
               call.device(), Made());
}

Error GraphAddChildGraphNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                             const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                             Graph &childGraph) {
    return add_child(call, pGraphNode, graph, pDependencies, numDependencies, childGraph, false);
}

Error GraphAddEventRecordNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                              const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                              Event &event) {
    return add(call, pGraphNode, graph, pDependencies, numDependencies,
               infinirtGraphNodeTypeEventRecord, event.device, Made(event));
}

Error GraphAddEventWaitNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                            const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                            Event &event) {
    return add(call, pGraphNode, graph, pDependencies, numDependencies,
               infinirtGraphNodeTypeWaitEvent, call.device(), Made(event));
}

Error GraphAddMemAllocNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                           const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                           infinirtMemAllocNodeParams *nodeParams) {
    return add_allocation(call, pGraphNode, graph, pDependencies, numDependencies, nodeParams);
}

Error GraphAddMemFreeNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                          const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                          void *dptr) {
    return add_free(call, pGraphNode, graph, pDependencies, numDependencies, dptr);
}

Error GraphAddNode(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                   const infinirtGraphNode_t *pDependencies, size_t numDependencies,
                   infinirtGraphNodeParams *nodeParams) {
    return GraphAddNode_v2(call, pGraphNode, graph, pDependencies, nullptr, numDependencies,
                           nodeParams);
}

Error GraphAddNode_v2(Call &call, infinirtGraphNode_t *pGraphNode, Graph &graph,
                      const infinirtGraphNode_t *pDependencies,
                      const infinirtGraphEdgeData *dependencyData, size_t numDependencies,
                      infinirtGraphNodeParams *nodeParams) {
    if (dependencyData && numDependencies > 0) {
        GraphLock lock;
        if (numDependencies <= graph.nodes.size())
            if (Error error = check_edge_data(call, dependencyData, numDependencies)) return error;
    }
    if (Error error = check_reserved(call, *nodeParams)) return error;
    switch (nodeParams->type) {
        case infinirtGraphNodeTypeEmpty:
            return GraphAddEmptyNode(call, pGraphNode, graph, pDependencies, numDependencies);
        case infinirtGraphNodeTypeMemFree:
            return add_free(call, pGraphNode, graph, pDependencies, numDependencies,
                            nodeParams->free.dptr);
        case infinirtGraphNodeTypeMemAlloc: {
            // The two structures differ only in name.
            infinirtMemAllocNodeParamsV2 &alloc = nodeParams->alloc;
            infinirtMemAllocNodeParams wanted{alloc.poolProps, alloc.accessDescs,
                                              alloc.accessDescCount, alloc.bytesize, nullptr};
            Error error =
                add_allocation(call, pGraphNode, graph, pDependencies, numDependencies, &wanted);
            if (error == infinirtSuccess) alloc.dptr = wanted.dptr;
            return error;
        }
        case infinirtGraphNodeTypeGraph: {
            infinirtGraphChildGraphNodeOwnership ownership = nodeParams->graph.ownership;
            if (ownership != infinirtGraphChildGraphOwnershipClone &&
                ownership != infinirtGraphChildGraphOwnershipMove)
                return call.invalid(
                    "nodeParams.graph.ownership is %d: expected clone or move (0 or 1)",
                    static_cast<int>(ownership));
            Graph *child = call.graph(nodeParams->graph.graph, 5, "nodeParams.graph.graph");
            if (!child) return call.error();
            return add_child(call, pGraphNode, graph, pDependencies, numDependencies, *child,
                             ownership == infinirtGraphChildGraphOwnershipMove);
        }
        default: {
            const Made made = make_parameters(call, *nodeParams);
            if (made.error != infinirtSuccess) return made.error;
            bool record = nodeParams->type == infinirtGraphNodeTypeEventRecord;
            return add(call, pGraphNode, graph, pDependencies, numDependencies, nodeParams->type,
                       record ? made.event->device : call.device(), made);
        }
    }
}

}  // namespace impl
}  // namespace infini::rt
