// Changing the node parameters of an instantiated graph, individually or all together.
#include <algorithm>
#include <unordered_map>

#include "exec.h"
#include "graph_memory.h"
#include "graph_nodes.h"
#include "impl.h"

namespace infini::rt {
namespace {

bool same_copy(const InfiniCopy &a, const InfiniCopy &b) {
    return a.dst == b.dst && a.src == b.src && a.width == b.width && a.height == b.height &&
           a.depth == b.depth && a.dst_pitch == b.dst_pitch && a.dst_slice == b.dst_slice &&
           a.src_pitch == b.src_pitch && a.src_slice == b.src_slice;
}

// CUDA's limits for changes, so that what works here works on other devices. Null if the change is
// allowed.
const char *copy_limit(const InfiniCopy &now, const InfiniCopy &next) {
    if (now.dst_device != next.dst_device || now.src_device != next.src_device)
        return "a copy must stay between the same devices, or device and host";
    auto line = [](const InfiniCopy &copy) { return copy.height == 1 && copy.depth == 1; };
    if ((!line(now) || !line(next)) && !same_copy(now, next))
        return "only a one-dimensional copy can change, and only into another one";
    return nullptr;
}

const char *fill_limit(const InfiniFill &now, const InfiniFill &next) {
    if (now.height == 1 && next.height == 1) return nullptr;
    bool same = now.width == next.width && now.height == next.height && now.pitch == next.pitch &&
                now.element == next.element;
    return same ? nullptr : "a fill of several rows can change its address and value only";
}

const char *limit(const Node &node, const NodeParameters &next, const Device &device) {
    switch (node.type) {
        case infinirtGraphNodeTypeMemcpy:
        case infinirtGraphNodeTypeMemset:
            if (&device != node.device) return "a copy or fill cannot move to another device";
            return node.type == infinirtGraphNodeTypeMemcpy
                       ? copy_limit(node.work.as.copy, next.work.as.copy)
                       : fill_limit(node.work.as.fill, next.work.as.fill);
        case infinirtGraphNodeTypeEventRecord: {
            Event *event = EventTable::get().find(next.event);
            if (!event) return "the event was destroyed";
            return &event->device == node.device ? nullptr
                                                 : "the event must be one of the same device";
        }
        case infinirtGraphNodeTypeKernel:
            return &device == node.device ? nullptr : "a kernel cannot move to another device";
        case infinirtGraphNodeTypeWaitEvent:
            return EventTable::get().find(next.event) ? nullptr : "the event was destroyed";
        default:
            return nullptr;
    }
}

// Replaces a node's parameters for later launches. Both locks held.
void replace(Exec &exec, Node &node, const NodeParameters &next) {
    // Launches in flight still use the old ones.
    if (node.host) exec.retired.things.push_back(node.host);
    if (node.kernel) exec.retired.things.push_back(node.kernel);
    if (node.memory) exec.retired.things.push_back(node.memory);
    static_cast<NodeParameters &>(node) = next;
    if (node.event) {
        EventUse use = event_use(node);
        for (EventUse &each : exec.event_uses)
            if (each.node == &node) each = use;
        exec.program.work[node.position].as.event = use.driver;
    } else if (node.position != Node::kNowhere) {
        exec.program.work[node.position] = node.work;
    }
}

// Holds an Exec for a change. What it replaces is released once no launch uses it.
class Change {
public:
    Change(Call &call, Exec &exec) : call_(call), exec_(exec) {
        graph_mutex().lock();
        exec.mutex().lock();
    }
    ~Change() {
        bool idle = exec_.idle();
        // Clients may wait for their destructors; the rest may be released later, but must not
        // accumulate when the graph is never idle.
        bool now = !exec_.retired.user_objects.empty() || exec_.retired.things.size() >= kMany;
        auto replaced = std::make_unique<Held>();
        if (idle || now) std::swap(*replaced, exec_.retired);
        if (!idle && now) let_go_later(call_, exec_, std::move(replaced));
        exec_.mutex().unlock();
        graph_mutex().unlock();
        if (replaced) let_go(std::move(replaced));
    }
    Change(const Change &) = delete;
    Change &operator=(const Change &) = delete;

private:
    static constexpr size_t kMany = 1024;
    Call &call_;
    Exec &exec_;
};

Error find_copy(Call &call, const Exec &exec, const Node &node, Node **copy) {
    auto found = exec.nodes.find(node.id);
    if (found == exec.nodes.end())
        return call.invalid(
            "argument 2 (node) is not part of argument 1: expected a node of the graph that was "
            "instantiated");
    *copy = found->second;
    return infinirtSuccess;
}

Error set_in_exec(Call &call, Exec &exec, const Node &node, infinirtGraphNodeType type,
                  const Made &next) {
    if (next.error != infinirtSuccess) return next.error;
    Change change(call, exec);
    Node *copy = nullptr;
    if (Error error = check_type(call, node, type)) return error;
    if (Error error = find_copy(call, exec, node, &copy)) return error;
    if (const char *reason = limit(*copy, next, *copy->device)) return call.invalid("%s", reason);
    replace(exec, *copy, next);
    return infinirtSuccess;
}

// ---- Whole updates: nodes are paired by topology, as in CUDA ------------------------------------

struct Difference {
    infinirtGraphExecUpdateResult result;
    Node *node;  // of the new graph
    const char *reason;
};

class Pairing {
public:
    const std::vector<std::pair<Node *, Node *>> &pairs() const { return pairs_; }
    const std::vector<std::pair<Graph *, const Graph *>> &graphs() const { return graphs_; }

    // From the nodes without dependents, in creation order, backwards along the edges, in the order
    // in which they were added.
    Difference match(Graph &mine, const Graph &theirs) {
        constexpr auto kTopology = infinirtGraphExecUpdateErrorTopologyChanged;
        if (mine.nodes.size() != theirs.nodes.size())
            return {kTopology, nullptr, "the number of nodes differs"};
        graphs_.emplace_back(&mine, &theirs);
        std::vector<Node *> ends = sinks(mine), their_ends = sinks(theirs);
        std::unordered_map<const Node *, const Node *> partner;
        std::vector<std::pair<Node *, Node *>> open;
        for (size_t i = 0; i < std::min(ends.size(), their_ends.size()); ++i)
            open.emplace_back(ends[i], their_ends[i]);
        std::reverse(open.begin(), open.end());
        while (!open.empty()) {
            auto [my, their] = open.back();
            open.pop_back();
            auto [mine_known, is_new] = partner.emplace(my, their);
            auto [theirs_known, theirs_new] = partner.emplace(their, my);
            if (mine_known->second != their || theirs_known->second != my ||
                my->dependencies.size() != their->dependencies.size())
                return {kTopology, their, "the edges differ"};
            if (!is_new) continue;
            if (my->type != their->type)
                return {infinirtGraphExecUpdateErrorNodeTypeChanged, their,
                        "a node's type differs"};
            pairs_.emplace_back(my, their);
            if (my->child) {
                Difference inside = match(*my->child, *their->child);
                if (inside.result != infinirtGraphExecUpdateSuccess) return inside;
            }
            for (size_t i = my->dependencies.size(); i-- > 0;)
                open.emplace_back(my->dependencies[i], their->dependencies[i]);
        }
        // Nodes on a cycle have no end, so they were not reached.
        if (ends.size() != their_ends.size() || partner.size() != 2 * mine.nodes.size())
            return {kTopology, nullptr, "the edges differ"};
        return {infinirtGraphExecUpdateSuccess, nullptr, nullptr};
    }

    Difference compare() const {
        for (auto [my, their] : pairs_)
            if (const char *reason = limit(*my, *their, *their->device))
                return {infinirtGraphExecUpdateErrorParametersChanged, their, reason};
        return {infinirtGraphExecUpdateSuccess, nullptr, nullptr};
    }

private:
    static std::vector<Node *> sinks(const Graph &graph) {
        std::vector<Node *> found;
        for (Node *node : graph.nodes)
            if (node->dependents.empty()) found.push_back(node);
        return found;
    }

    std::vector<std::pair<Node *, Node *>> pairs_;
    std::vector<std::pair<Graph *, const Graph *>> graphs_;
};

// Takes over all parameters of `theirs`, or none. `mine` is (part of) the private clone.
Difference take_over(Exec &exec, Graph &mine, const Graph &theirs) {
    Pairing pairing;
    Difference difference = pairing.match(mine, theirs);
    if (difference.result == infinirtGraphExecUpdateSuccess) difference = pairing.compare();
    if (difference.result != infinirtGraphExecUpdateSuccess) return difference;
    for (auto [my, their] : pairing.pairs()) replace(exec, *my, *their);
    for (auto [my, their] : pairing.graphs()) {
        auto &old = exec.retired.user_objects;
        old.insert(old.end(), my->user_objects.begin(), my->user_objects.end());
        my->user_objects = their->user_objects;
        retain(my->user_objects);
    }
    return difference;
}

// The lists of memory follow the nodes, and the new graph counts as the instantiated one, as in
// CUDA.
void follow_memory(Exec &exec, Graph &graph) {
    if (!has_memory_nodes(graph)) return;
    exec.memory_use = memory_use(*exec.graph);
    if (exec.source) exec.source->exec = nullptr;
    exec.source = &graph;
    graph.exec = &exec;
}

Error report(Call &call, const Difference &difference, const char *what) {
    if (difference.result == infinirtGraphExecUpdateSuccess) return infinirtSuccess;
    return call.fail(
        infinirtErrorGraphExecUpdateFailure,
        "%s cannot be taken over: %s; expected the same shape and parameters within the "
        "limits of an update, else instantiate anew",
        what, difference.reason);
}

}  // namespace

namespace impl {

Error GraphExecUpdate(Call &call, Exec &hGraphExec, Graph &hGraph,
                      infinirtGraphExecUpdateResultInfo *resultInfo) {
    Change change(call, hGraphExec);
    Difference difference{infinirtGraphExecUpdateErrorNotSupported, nullptr,
                          "it allocates memory and is instantiated itself"};
    // Only one instantiation of a graph with memory nodes may exist.
    if (!hGraph.exec || hGraph.exec == &hGraphExec)
        difference = take_over(hGraphExec, *hGraphExec.graph, hGraph);
    if (difference.result == infinirtGraphExecUpdateSuccess) follow_memory(hGraphExec, hGraph);
    if (resultInfo) *resultInfo = {difference.result, handle_of(difference.node), nullptr};
    return report(call, difference, "argument 2 (hGraph)");
}

Error GraphExecChildGraphNodeSetParams(Call &call, Exec &hGraphExec, Node &node,
                                       Graph &childGraph) {
    Change change(call, hGraphExec);
    Node *copy = nullptr;
    if (Error error = check_type(call, node, infinirtGraphNodeTypeGraph)) return error;
    if (Error error = find_copy(call, hGraphExec, node, &copy)) return error;
    if (has_memory_nodes(childGraph))
        return call.fail(
            infinirtErrorNotSupported,
            "argument 3 (childGraph) has nodes that allocate or free memory: they cannot be "
            "taken over");
    return report(call, take_over(hGraphExec, *copy->child, childGraph), "argument 3 (childGraph)");
}

Error GraphExecNodeSetParams(Call &call, Exec &graphExec, Node &node,
                             infinirtGraphNodeParams *nodeParams) {
    if (Error error = check_type(call, node, nodeParams->type)) return error;
    if (nodeParams->type == infinirtGraphNodeTypeGraph) {
        if (Error error = check_reserved(call, *nodeParams)) return error;
        Graph *child = call.graph(nodeParams->graph.graph, 3, "nodeParams.graph.graph");
        if (!child) return call.error();
        return GraphExecChildGraphNodeSetParams(call, graphExec, node, *child);
    }
    return set_in_exec(call, graphExec, node, nodeParams->type, make_parameters(call, *nodeParams));
}

Error GraphExecMemcpyNodeSetParams(Call &call, Exec &hGraphExec, Node &node,
                                   const infinirtMemcpy3DParms *pNodeParams) {
    return set_in_exec(call, hGraphExec, node, infinirtGraphNodeTypeMemcpy,
                       make_memcpy(call, *pNodeParams));
}

Error GraphExecMemcpyNodeSetParams1D(Call &call, Exec &hGraphExec, Node &node, void *dst,
                                     const void *src, size_t count, infinirtMemcpyKind kind) {
    return set_in_exec(call, hGraphExec, node, infinirtGraphNodeTypeMemcpy,
                       make_memcpy(call, dst, src, count, kind));
}

Error GraphExecMemsetNodeSetParams(Call &call, Exec &hGraphExec, Node &node,
                                   const infinirtMemsetParams *pNodeParams) {
    return set_in_exec(call, hGraphExec, node, infinirtGraphNodeTypeMemset,
                       make_memset(call, *pNodeParams));
}

Error GraphExecHostNodeSetParams(Call &call, Exec &hGraphExec, Node &node,
                                 const infinirtHostNodeParams *pNodeParams) {
    return set_in_exec(call, hGraphExec, node, infinirtGraphNodeTypeHost,
                       make_host(call, pNodeParams->fn, pNodeParams->userData));
}

Error GraphExecEventRecordNodeSetEvent(Call &call, Exec &hGraphExec, Node &hNode, Event &event) {
    return set_in_exec(call, hGraphExec, hNode, infinirtGraphNodeTypeEventRecord, Made(event));
}

Error GraphExecEventWaitNodeSetEvent(Call &call, Exec &hGraphExec, Node &hNode, Event &event) {
    return set_in_exec(call, hGraphExec, hNode, infinirtGraphNodeTypeWaitEvent, Made(event));
}

}  // namespace impl
}  // namespace infini::rt
