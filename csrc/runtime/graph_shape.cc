// The functions that make, read and change the shape of graphs.
#include <algorithm>

#include "exec.h"
#include "graph_nodes.h"
#include "impl.h"

namespace infini::rt {

Error check_edge_data(Call &call, const infinirtGraphEdgeData *data, size_t count) {
    for (size_t i = 0; data && i < count; ++i) {
        const infinirtGraphEdgeData &edge = data[i];
        bool plain = !edge.from_port && !edge.to_port && !edge.type &&
                     std::all_of(std::begin(edge.reserved), std::end(edge.reserved),
                                 [](unsigned char byte) { return byte == 0; });
        if (!plain)
            return call.fail(infinirtErrorNotSupported,
                             "the data of edge %zu is not zero: only plain edges are supported", i);
    }
    return infinirtSuccess;
}

Error find_nodes(Call &call, const Graph &graph, const infinirtGraphNode_t *handles, size_t count,
                 const char *name, std::vector<Node *> *nodes) {
    for (size_t i = 0; i < count; ++i) {
        Node *node = NodeTable::get().find(handles[i]);
        if (!node || node->graph != &graph)
            return call.invalid("%s[%zu] is %s: expected a live node of the graph", name, i,
                                node ? "a node of another graph" : "no node");
        nodes->push_back(node);
    }
    return infinirtSuccess;
}

namespace {

// Returns a list as CUDA does: without a buffer only its length; unused entries of the buffer
// become null.
Error hand_over(Call &call, const std::vector<Node *> &nodes, infinirtGraphNode_t *out,
                infinirtGraphEdgeData *edges, size_t *count) {
    if (out) {
        if (*count > PTRDIFF_MAX / sizeof *out)
            return call.invalid("the room is said to be for %zu items: no array is that long",
                                *count);
        for (size_t i = 0; i < *count; ++i)
            out[i] = i < nodes.size() ? handle_of(nodes[i]) : nullptr;
        if (edges) std::fill_n(edges, std::min(*count, nodes.size()), infinirtGraphEdgeData{});
    }
    *count = out ? std::min(*count, nodes.size()) : nodes.size();
    return infinirtSuccess;
}

Error hand_over_edges(Call &call, const Graph &graph, infinirtGraphNode_t *from,
                      infinirtGraphNode_t *to, infinirtGraphEdgeData *data, size_t *count) {
    if (!from != !to)
        return call.invalid("one of arguments 2 (from) and 3 (to) is null: expected both or none");
    std::vector<Node *> starts, ends;
    for (Node *node : graph.nodes)
        for (Node *earlier : node->dependencies) {
            starts.push_back(earlier);
            ends.push_back(node);
        }
    size_t room = *count;
    if (Error error = hand_over(call, starts, from, data, count)) return error;
    return hand_over(call, ends, to, nullptr, &room);
}

// Both ends of each edge that a client passes.
struct Edges {
    std::vector<Node *> from, to;
};

Error find_edges(Call &call, const Graph &graph, const infinirtGraphNode_t *from,
                 const infinirtGraphNode_t *to, const infinirtGraphEdgeData *data, size_t count,
                 Edges *edges) {
    size_t nodes = graph.nodes.size();
    if (nodes == 0 ? count > 0 : count / nodes >= nodes)
        return call.invalid("numDependencies is %zu: the graph has only %zu nodes to connect",
                            count, nodes);
    if (Error error = check_edge_data(call, data, count)) return error;
    if (Error error = find_nodes(call, graph, from, count, "from", &edges->from)) return error;
    return find_nodes(call, graph, to, count, "to", &edges->to);
}

bool connected(const Node *from, const Node *to) {
    return std::find(to->dependencies.begin(), to->dependencies.end(), from) !=
           to->dependencies.end();
}

void disconnect(Node *from, Node *to) {
    std::erase(to->dependencies, from);
    std::erase(from->dependents, to);
}

Error check_removable(Call &call, const Graph &graph) {
    if (!has_memory_nodes(graph)) return infinirtSuccess;
    return call.fail(infinirtErrorNotSupported,
                     "the graph has nodes that allocate or free memory: nodes and edges of such a "
                     "graph cannot be removed");
}

}  // namespace

namespace impl {

Error GraphCreate(Call &call, infinirtGraph_t *pGraph, unsigned int flags) {
    if (flags != 0) return call.invalid("argument 2 (flags) is 0x%x: expected 0", flags);
    GraphLock lock;
    Graph *graph = new_graph();
    if (!graph) return call.fail(infinirtErrorMemoryAllocation, "too many graphs");
    *pGraph = handle_of(graph);
    return infinirtSuccess;
}

Error GraphDestroy(Call &call, Graph &graph) {
    GraphLock lock;
    if (graph.owner)
        return call.invalid(
            "argument 1 (graph) belongs to a child-graph node: it goes with that node");
    if (is_captured(graph))
        return call.fail(infinirtErrorIllegalState,
                         "argument 1 (graph) is being captured into: expected "
                         "infinirtStreamEndCapture first");
    forget_source(graph);
    delete_graph(&graph);
    return infinirtSuccess;
}

Error GraphClone(Call &call, infinirtGraph_t *pGraphClone, Graph &originalGraph) {
    GraphLock lock;
    if (has_memory_nodes(originalGraph))
        return call.fail(
            infinirtErrorNotSupported,
            "argument 2 (originalGraph) has nodes that allocate or free memory: such a "
            "graph cannot be cloned");
    Graph *clone = clone_graph(originalGraph);
    if (!clone) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
    *pGraphClone = handle_of(clone);
    return infinirtSuccess;
}

Error GraphNodeFindInClone(Call &call, infinirtGraphNode_t *pNode, Node &originalNode,
                           Graph &clonedGraph) {
    GraphLock lock;
    for (Node *node : clonedGraph.nodes) {
        if (node->cloned_from != originalNode.id) continue;
        *pNode = handle_of(node);
        return infinirtSuccess;
    }
    return call.invalid(
        "argument 3 (clonedGraph) has no copy of argument 2 (originalNode): expected a clone of "
        "the node's graph in which the copy was not destroyed");
}

Error GraphNodeGetType(Call &, Node &node, infinirtGraphNodeType *pType) {
    *pType = node.type;
    return infinirtSuccess;
}

Error GraphGetNodes(Call &call, Graph &graph, infinirtGraphNode_t *nodes, size_t *numNodes) {
    GraphLock lock;
    return hand_over(call, graph.nodes, nodes, nullptr, numNodes);
}

Error GraphGetRootNodes(Call &call, Graph &graph, infinirtGraphNode_t *pRootNodes,
                        size_t *pNumRootNodes) {
    GraphLock lock;
    std::vector<Node *> roots;
    for (Node *node : graph.nodes)
        if (node->dependencies.empty()) roots.push_back(node);
    return hand_over(call, roots, pRootNodes, nullptr, pNumRootNodes);
}

Error GraphGetEdges(Call &call, Graph &graph, infinirtGraphNode_t *from, infinirtGraphNode_t *to,
                    size_t *numEdges) {
    return GraphGetEdges_v2(call, graph, from, to, nullptr, numEdges);
}

Error GraphGetEdges_v2(Call &call, Graph &graph, infinirtGraphNode_t *from, infinirtGraphNode_t *to,
                       infinirtGraphEdgeData *edgeData, size_t *numEdges) {
    GraphLock lock;
    return hand_over_edges(call, graph, from, to, edgeData, numEdges);
}

Error GraphNodeGetDependencies(Call &call, Node &node, infinirtGraphNode_t *pDependencies,
                               size_t *pNumDependencies) {
    return GraphNodeGetDependencies_v2(call, node, pDependencies, nullptr, pNumDependencies);
}

Error GraphNodeGetDependencies_v2(Call &call, Node &node, infinirtGraphNode_t *pDependencies,
                                  infinirtGraphEdgeData *edgeData, size_t *pNumDependencies) {
    GraphLock lock;
    return hand_over(call, node.dependencies, pDependencies, edgeData, pNumDependencies);
}

Error GraphNodeGetDependentNodes(Call &call, Node &node, infinirtGraphNode_t *pDependentNodes,
                                 size_t *pNumDependentNodes) {
    return GraphNodeGetDependentNodes_v2(call, node, pDependentNodes, nullptr, pNumDependentNodes);
}

Error GraphNodeGetDependentNodes_v2(Call &call, Node &node, infinirtGraphNode_t *pDependentNodes,
                                    infinirtGraphEdgeData *edgeData, size_t *pNumDependentNodes) {
    GraphLock lock;
    return hand_over(call, node.dependents, pDependentNodes, edgeData, pNumDependentNodes);
}

Error GraphAddDependencies(Call &call, Graph &graph, const infinirtGraphNode_t *from,
                           const infinirtGraphNode_t *to, size_t numDependencies) {
    return GraphAddDependencies_v2(call, graph, from, to, nullptr, numDependencies);
}

// All edges or none. A cycle is found when the graph is instantiated, as in CUDA.
Error GraphAddDependencies_v2(Call &call, Graph &graph, const infinirtGraphNode_t *from,
                              const infinirtGraphNode_t *to, const infinirtGraphEdgeData *edgeData,
                              size_t numDependencies) {
    GraphLock lock;
    Edges edges;
    if (Error error = find_edges(call, graph, from, to, edgeData, numDependencies, &edges))
        return error;
    for (size_t i = 0; i < numDependencies; ++i) {
        Node *earlier = edges.from[i], *later = edges.to[i];
        bool exists = connected(earlier, later);
        if (!exists && earlier != later) {
            later->dependencies.push_back(earlier);
            earlier->dependents.push_back(later);
            continue;
        }
        while (i-- > 0) disconnect(edges.from[i], edges.to[i]);
        return call.invalid(
            "%s: expected edges that do not exist yet",
            exists ? "an edge exists already" : "an edge goes from a node to itself");
    }
    return infinirtSuccess;
}

Error GraphRemoveDependencies(Call &call, Graph &graph, const infinirtGraphNode_t *from,
                              const infinirtGraphNode_t *to, size_t numDependencies) {
    return GraphRemoveDependencies_v2(call, graph, from, to, nullptr, numDependencies);
}

Error GraphRemoveDependencies_v2(Call &call, Graph &graph, const infinirtGraphNode_t *from,
                                 const infinirtGraphNode_t *to,
                                 const infinirtGraphEdgeData *edgeData, size_t numDependencies) {
    GraphLock lock;
    Edges edges;
    if (Error error = find_edges(call, graph, from, to, edgeData, numDependencies, &edges))
        return error;
    if (numDependencies > 0)
        if (Error error = check_removable(call, graph)) return error;
    for (size_t i = 0; i < numDependencies; ++i)
        if (!connected(edges.from[i], edges.to[i]))
            return call.invalid(
                "from[%zu] and to[%zu] are not connected: expected an edge of the graph", i, i);
    for (size_t i = 0; i < numDependencies; ++i) disconnect(edges.from[i], edges.to[i]);
    return infinirtSuccess;
}

Error GraphDestroyNode(Call &call, Node &node) {
    GraphLock lock;
    if (Error error = check_removable(call, *node.graph)) return error;
    if (is_captured(*node.graph) || (node.child && is_captured(*node.child)))
        return call.fail(infinirtErrorIllegalState,
                         "the graph of argument 1 (node) is being captured into: expected "
                         "infinirtStreamEndCapture first");
    delete_node(&node);
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
