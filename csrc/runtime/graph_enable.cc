// Switching nodes of an instantiated graph off and on.
#include "exec.h"
#include "graph_nodes.h"
#include "impl.h"

namespace infini::rt {
namespace {

// As in CUDA only copies, fills and kernels can be switched.
Error find_switchable(Call &call, const Exec &exec, const Node &node, Node **copy) {
    if (node.type != infinirtGraphNodeTypeMemcpy && node.type != infinirtGraphNodeTypeMemset &&
        node.type != infinirtGraphNodeTypeKernel)
        return call.invalid(
            "argument 2 (hNode) is of type %s: expected a copy, fill or kernel node",
            type_name(node.type));
    auto found = exec.nodes.find(node.id);
    if (found == exec.nodes.end())
        return call.invalid(
            "argument 2 (hNode) is not part of argument 1: expected a node of the graph that was "
            "instantiated");
    *copy = found->second;
    return infinirtSuccess;
}

}  // namespace

namespace impl {

Error GraphNodeSetEnabled(Call &call, Exec &hGraphExec, Node &hNode, unsigned int isEnabled) {
    GraphLock lock;
    Node *copy = nullptr;
    if (Error error = find_switchable(call, hGraphExec, hNode, &copy)) return error;
    if (copy->enabled == (isEnabled != 0)) return infinirtSuccess;
    std::lock_guard launches(hGraphExec.mutex());
    copy->enabled = isEnabled != 0;
    Error error = compile(call, hGraphExec);
    if (error != infinirtSuccess) copy->enabled = !copy->enabled;
    return error;
}

Error GraphNodeGetEnabled(Call &call, Exec &hGraphExec, Node &hNode, unsigned int *isEnabled) {
    GraphLock lock;
    Node *copy = nullptr;
    if (Error error = find_switchable(call, hGraphExec, hNode, &copy)) return error;
    *isEnabled = copy->enabled;
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
