// Shared by the tests of graphs.
#pragma once

#include <initializer_list>
#include <vector>

#include "check.h"

inline infinirtStream_t make_stream(unsigned flags = infinirtStreamNonBlocking) {
    infinirtStream_t stream;
    OK(infinirtStreamCreateWithFlags(&stream, flags));
    return stream;
}

inline infinirtGraph_t make_graph() {
    infinirtGraph_t graph;
    OK(infinirtGraphCreate(&graph, 0));
    return graph;
}

using Nodes = std::vector<infinirtGraphNode_t>;

inline infinirtGraphNode_t add_empty(infinirtGraph_t graph, const Nodes &after = {}) {
    infinirtGraphNode_t node;
    OK(infinirtGraphAddEmptyNode(&node, graph, after.data(), after.size()));
    return node;
}

inline infinirtGraphNode_t add_host(infinirtGraph_t graph, infinirtHostFn_t function, void *data,
                                    const Nodes &after = {}) {
    infinirtGraphNode_t node;
    infinirtHostNodeParams parameters{function, data};
    OK(infinirtGraphAddHostNode(&node, graph, after.data(), after.size(), &parameters));
    return node;
}

inline infinirtGraphNode_t add_fill(infinirtGraph_t graph, void *memory, unsigned value,
                                    size_t bytes, const Nodes &after = {}) {
    infinirtGraphNode_t node;
    infinirtMemsetParams parameters{memory, 0, value, 1, bytes, 1};
    OK(infinirtGraphAddMemsetNode(&node, graph, after.data(), after.size(), &parameters));
    return node;
}

inline infinirtGraphNode_t add_copy(infinirtGraph_t graph, void *to, const void *from, size_t bytes,
                                    const Nodes &after = {}) {
    infinirtGraphNode_t node;
    OK(infinirtGraphAddMemcpyNode1D(&node, graph, after.data(), after.size(), to, from, bytes,
                                    infinirtMemcpyDefault));
    return node;
}

inline infinirtGraphExec_t instantiate(infinirtGraph_t graph, unsigned long long flags = 0) {
    infinirtGraphExec_t exec;
    OK(infinirtGraphInstantiateWithFlags(&exec, graph, flags));
    return exec;
}

inline Nodes nodes_of(infinirtGraph_t graph) {
    size_t count = 0;
    OK(infinirtGraphGetNodes(graph, nullptr, &count));
    Nodes nodes(count);
    OK(infinirtGraphGetNodes(graph, nodes.data(), &count));
    return nodes;
}

inline size_t edges_of(infinirtGraph_t graph) {
    size_t count = 0;
    OK(infinirtGraphGetEdges(graph, nullptr, nullptr, &count));
    return count;
}

inline char *device_memory(size_t bytes) {
    void *memory;
    OK(infinirtMalloc(&memory, bytes));
    OK(infinirtMemset(memory, 0, bytes));
    return static_cast<char *>(memory);
}

inline int first_byte(const char *memory) {
    char byte;
    OK(infinirtMemcpy(&byte, memory, 1, infinirtMemcpyDeviceToHost));
    return byte;
}

inline void add_one(void *counter) {
    auto *count = static_cast<std::atomic<int> *>(counter);
    count->fetch_add(1);
    count->notify_all();
}
