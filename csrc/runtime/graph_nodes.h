// Checked node parameters, for graphs and for instantiated graphs.
#pragma once

#include "graph.h"

namespace infini::rt {

// Looks up handles and checks that they are nodes of the graph. graph_mutex() is held.
Error find_nodes(Call &call, const Graph &graph, const infinirtGraphNode_t *handles, size_t count,
                 const char *name, std::vector<Node *> *nodes);
// All zero, or empty.
Error check_edge_data(Call &call, const infinirtGraphEdgeData *data, size_t count);

// What a node does; on failure the error is recorded.
struct Made : NodeParameters {
    Error error = infinirtSuccess;

    Made() = default;
    Made(Error error) : error(error) {}
    explicit Made(Event &event) { this->event = &event; }
};

Made make_memcpy(Call &call, const infinirtMemcpy3DParms &copy);
Made make_memcpy(Call &call, void *dst, const void *src, size_t count, infinirtMemcpyKind kind);
Made make_memset(Call &call, const infinirtMemsetParams &fill);
Made make_host(Call &call, infinirtHostFn_t function, void *data);
// From the members of the union that belong to Memcpy, Memset, Host, EventRecord and WaitEvent.
Error check_reserved(Call &call, const infinirtGraphNodeParams &parameters);
Made make_parameters(Call &call, const infinirtGraphNodeParams &parameters);

// New parameters must match the node's type.
Error check_type(Call &call, const Node &node, infinirtGraphNodeType type);
const char *type_name(infinirtGraphNodeType type);

}  // namespace infini::rt
