// Making, copying and deleting graphs and nodes; walking over them.
#include "graph.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "graph_memory.h"

namespace infini::rt {
namespace {

std::atomic<uint64_t> next_id{1};

uint64_t new_id() { return next_id.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Node::Node(Graph &graph, infinirtGraphNodeType type, Device &device)
    : graph(&graph), type(type), id(new_id()), device(&device) {}

Graph::Graph() : id(new_id()) {}

Graph *new_graph() { return GraphTable::get().make(); }

void delete_graph(Graph *graph) {
    for (Node *node : graph->nodes) {
        if (node->child) delete_graph(node->child);
        NodeTable::get().destroy(node);
    }
    release(graph->user_objects);
    GraphTable::get().destroy(graph);
}

Node *add_node(Graph &graph, infinirtGraphNodeType type, Device &device,
               const std::vector<Node *> &dependencies) {
    Node *node = NodeTable::get().make(graph, type, device);
    if (!node) return nullptr;
    node->dependencies = dependencies;
    for (Node *earlier : dependencies) earlier->dependents.push_back(node);
    graph.nodes.push_back(node);
    return node;
}

void delete_node(Node *node) {
    for (Node *earlier : node->dependencies) std::erase(earlier->dependents, node);
    for (Node *later : node->dependents) std::erase(later->dependencies, node);
    std::erase(node->graph->nodes, node);
    if (node->child) delete_graph(node->child);
    NodeTable::get().destroy(node);
}

Graph *clone_graph(const Graph &graph) {
    Graph *clone = new_graph();
    if (!clone) return nullptr;
    std::unordered_map<const Node *, Node *> copies;
    copies.reserve(graph.nodes.size());
    clone->nodes.reserve(graph.nodes.size());
    bool complete = true;
    for (const Node *node : graph.nodes) {
        Node *copy = add_node(*clone, node->type, *node->device, {});
        complete = copy != nullptr;
        if (!complete) break;
        static_cast<NodeParameters &>(*copy) = *node;
        copy->cloned_from = node->id;
        copies.emplace(node, copy);
        if (!node->child) continue;
        copy->child = clone_graph(*node->child);
        complete = copy->child != nullptr;
        if (!complete) break;
        copy->child->owner = copy;
    }
    if (!complete) {
        delete_graph(clone);
        return nullptr;
    }
    // The order of the edges is kept, since an update pairs nodes by it.
    for (const Node *node : graph.nodes) {
        Node *copy = copies[node];
        for (const Node *earlier : node->dependencies)
            copy->dependencies.push_back(copies[earlier]);
        for (const Node *later : node->dependents) copy->dependents.push_back(copies[later]);
    }
    clone->user_objects = graph.user_objects;
    retain(clone->user_objects);
    return clone;
}

namespace {

// The parameters that a client would have passed for this copy, with the directions in effect.
infinirtMemcpy3DParms parameters_of(const InfiniCopy &copy) {
    infinirtMemcpy3DParms parameters{};
    auto box = [&](const void *pointer, size_t pitch, size_t slice) {
        bool line = copy.height == 1 && copy.depth == 1;
        return infinirtPitchedPtr{const_cast<void *>(pointer), line ? copy.width : pitch,
                                  copy.width,
                                  copy.depth > 1 && pitch ? slice / pitch : copy.height};
    };
    parameters.dstPtr = box(copy.dst, copy.dst_pitch, copy.dst_slice);
    parameters.srcPtr = box(copy.src, copy.src_pitch, copy.src_slice);
    parameters.extent = {copy.width, copy.height, copy.depth};
    bool to_host = copy.dst_device < 0, from_host = copy.src_device < 0;
    parameters.kind = to_host
                          ? (from_host ? infinirtMemcpyHostToHost : infinirtMemcpyDeviceToHost)
                          : (from_host ? infinirtMemcpyHostToDevice : infinirtMemcpyDeviceToDevice);
    return parameters;
}

// A fill node fills rows, so a box becomes one node for each slice, as in CUDA.
Node *add_fill_nodes(Graph &graph, Device &device, const InfiniWork &work,
                     const std::vector<Node *> &dependencies) {
    const InfiniFill &fill = work.as.fill;
    Node *node = nullptr;
    for (size_t slice = 0; slice < fill.depth; ++slice) {
        node = add_node(graph, infinirtGraphNodeTypeMemset, device,
                        node ? std::vector<Node *>{node} : dependencies);
        if (!node) return nullptr;
        node->work = work;
        node->work.as.fill.dst = static_cast<char *>(fill.dst) + slice * fill.slice;
        node->work.as.fill.depth = 1;
        node->fill = {node->work.as.fill.dst,
                      fill.height > 1 ? fill.pitch : 0,
                      fill.value,
                      fill.element,
                      fill.width,
                      fill.height};
    }
    return node;
}

}  // namespace

KernelCall::KernelCall(const InfiniOperators &operators, const InfiniKernel &kernel)
    : operators_(operators),
      plan_(kernel.plan),
      pointers_(kernel.arguments->pointers,
                kernel.arguments->pointers + kernel.arguments->pointer_count),
      scalars_(kernel.arguments->scalars,
               kernel.arguments->scalars + kernel.arguments->scalar_count),
      arguments_(*kernel.arguments) {
    arguments_.pointers = pointers_.data();
    arguments_.scalars = scalars_.data();
    operators.hold(plan_);
}

Node *add_work_node(Graph &graph, Device &device, const InfiniWork &work,
                    const std::vector<Node *> &dependencies) {
    if (work.kind == INFINI_WORK_FILL) return add_fill_nodes(graph, device, work, dependencies);
    infinirtGraphNodeType type = work.kind == INFINI_WORK_HOST     ? infinirtGraphNodeTypeHost
                                 : work.kind == INFINI_WORK_KERNEL ? infinirtGraphNodeTypeKernel
                                                                   : infinirtGraphNodeTypeMemcpy;
    Node *node = add_node(graph, type, device, dependencies);
    if (!node) return nullptr;
    node->work = work;
    if (type == infinirtGraphNodeTypeHost) {
        node->host = std::make_shared<HostCall>(HostCall{work.as.host.function, work.as.host.data});
        node->work.as.host = {HostCall::run, node->host.get()};
    } else if (type == infinirtGraphNodeTypeKernel) {
        node->kernel = std::make_shared<KernelCall>(*device.backend.operators, work.as.kernel);
        node->work.as.kernel = node->kernel->kernel();
    } else {
        node->copy = parameters_of(work.as.copy);
    }
    return node;
}

bool has_memory_nodes(const Graph &graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node *node) {
        return node->memory || (node->child && has_memory_nodes(*node->child));
    });
}

bool is_captured(const Graph &graph) {
    if (captures_in_progress.load(std::memory_order_acquire) == 0) return false;
    for (const Node *node : graph.nodes)
        if (node->child && is_captured(*node->child)) return true;
    return captures_into(graph);
}

std::vector<Node *> topological_order(const Graph &graph) {
    // Of the nodes that are ready, the one made first comes next: this keeps branches together that
    // were recorded one after the other.
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    std::vector<size_t> open(graph.nodes.size());
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
        graph.nodes[i]->mark = i;
        open[i] = graph.nodes[i]->dependencies.size();
        if (open[i] == 0) ready.push(i);
    }
    std::vector<Node *> order;
    order.reserve(graph.nodes.size());
    while (!ready.empty()) {
        Node *node = graph.nodes[ready.top()];
        ready.pop();
        order.push_back(node);
        for (Node *later : node->dependents)
            if (--open[later->mark] == 0) ready.push(later->mark);
    }
    return order;
}

}  // namespace infini::rt
