// Instantiating graphs, and destroying the instances.
#include "exec.h"
#include "graph_memory.h"
#include "graph_nodes.h"
#include "impl.h"

namespace infini::rt {
namespace {

std::atomic<uint64_t> next_number{1};

constexpr unsigned long long kKnownFlags =
    infinirtGraphInstantiateFlagAutoFreeOnLaunch | infinirtGraphInstantiateFlagUpload |
    infinirtGraphInstantiateFlagDeviceLaunch | infinirtGraphInstantiateFlagUseNodePriority;

// Why a graph cannot be instantiated, as InstantiateWithParams reports it.
struct Problem {
    infinirtGraphInstantiateResult result = infinirtGraphInstantiateError;
    Node *node = nullptr;
};

Error check_flags(Call &call, unsigned long long flags, bool with_parameters) {
    if (flags & ~kKnownFlags)
        return call.invalid("flags is 0x%llx: expected a union of infinirtGraphInstantiateFlags",
                            flags);
    if (flags & infinirtGraphInstantiateFlagDeviceLaunch)
        return call.fail(
            infinirtErrorNotSupported,
            "flags has infinirtGraphInstantiateFlagDeviceLaunch: graphs are launched from "
            "the host only");
    if ((flags & infinirtGraphInstantiateFlagUpload) && !with_parameters)
        return call.invalid(
            "flags has infinirtGraphInstantiateFlagUpload: expected "
            "infinirtGraphInstantiateWithParams, which takes a stream for it");
    return infinirtSuccess;
}

// No cycle, live events, one device type; in child graphs as well.
Error check_graph(Call &call, const Graph &graph, Problem *problem) {
    std::vector<Node *> order = topological_order(graph);
    if (order.size() < graph.nodes.size()) {
        std::vector<bool> reached(graph.nodes.size());
        for (const Node *node : order) reached[node->mark] = true;
        for (Node *node : graph.nodes)
            if (!reached[node->mark]) problem->node = node;
        problem->result = infinirtGraphInstantiateInvalidStructure;
        return call.invalid(
            "the edges of the graph form a cycle: expected an order in which nodes can run");
    }
    for (Node *node : order) {
        problem->node = node;
        if (&node->device->backend != call.thread.backend) {
            problem->result = infinirtGraphInstantiateMultipleDevicesNotSupported;
            return call.fail(infinirtErrorNotSupported,
                             "a node is for devices of kind %s, but this thread uses kind %s",
                             node->device->backend.name.c_str(), call.thread.backend->name.c_str());
        }
        if (node->event && !event_use(*node).driver)
            return call.invalid(
                "the event of an %s node was destroyed: expected it to live as long as the graph",
                type_name(node->type));
        if (node->child)
            if (Error error = check_graph(call, *node->child, problem)) return error;
    }
    problem->node = nullptr;
    return infinirtSuccess;
}

Error check_memory(Call &call, const Graph &graph) {
    if (!has_memory_nodes(graph)) return infinirtSuccess;
    if (graph.exec)
        return call.fail(
            infinirtErrorNotSupported,
            "the graph has nodes that allocate or free memory and is instantiated already: "
            "only one instantiation of it may exist at a time");
    if (graph.owner)
        return call.fail(
            infinirtErrorNotSupported,
            "the graph has nodes that allocate or free memory and belongs to a child-graph "
            "node: only the outer graph can be instantiated");
    return infinirtSuccess;
}

void index_nodes(Exec &exec, const Graph &graph) {
    for (Node *node : graph.nodes) {
        exec.nodes.emplace(node->cloned_from, node);
        if (node->child) index_nodes(exec, *node->child);
    }
}

Error instantiate(Call &call, Graph &graph, unsigned long long flags, infinirtGraphExec_t *out,
                  Problem *problem) {
    // CUDA allocates here, so it is not permitted while another stream is being captured.
    if (Error error = check_unsafe_call(call)) return error;
    GraphLock lock;
    if (is_captured(graph))
        return call.fail(
            infinirtErrorIllegalState,
            "the graph is being captured into: expected infinirtStreamEndCapture first");
    if (Error error = check_graph(call, graph, problem)) return error;
    if (Error error = check_memory(call, graph)) return error;
    Graph *clone = clone_graph(graph);
    Exec *exec = clone ? ExecTable::get().make(clone, flags) : nullptr;
    if (!exec) {
        if (clone) delete_graph(clone);
        return call.fail(infinirtErrorMemoryAllocation,
                         "too many graph nodes or instantiated graphs");
    }
    index_nodes(*exec, *clone);
    Error error;
    {
        std::lock_guard launches(exec->mutex());
        error = compile(call, *exec);
        if (error != infinirtSuccess) destroy_driver_objects(*exec);
    }
    if (error != infinirtSuccess) {
        delete_graph(clone);
        ExecTable::get().destroy(exec);
        return error;
    }
    if (has_memory_nodes(graph)) {
        exec->source = &graph;
        graph.exec = exec;
    }
    problem->result = infinirtGraphInstantiateSuccess;
    *out = handle_of(exec);
    return infinirtSuccess;
}

void collect(const Graph &graph, Held *held) {
    for (const Node *node : graph.nodes) {
        if (node->host) held->things.push_back(node->host);
        if (node->kernel) held->things.push_back(node->kernel);
        if (node->memory) held->things.push_back(node->memory);
        if (node->child) collect(*node->child, held);
    }
}

// Such a thread must not call the device, so the memory is freed later.
void let_go_on_device_thread(void *held) {
    Thread &thread = Thread::current();
    ++thread.host_function_depth;
    let_go(std::unique_ptr<Held>(static_cast<Held *>(held)));
    --thread.host_function_depth;
}

}  // namespace

Exec::Exec(Graph *graph, unsigned long long flags)
    : flags(flags), number(next_number.fetch_add(1, std::memory_order_relaxed)), graph(graph) {}

void let_go(std::unique_ptr<Held> held) {
    graph_mutex().lock();
    release(held->user_objects);
    graph_mutex().unlock();
    held.reset();
    sweep_graph_leftovers();
}

// Without the stream the end is unknown; never releasing it does no harm.
Error let_go_later(Call &call, const Exec &exec, std::unique_ptr<Held> held) {
    Device &device = *exec.home;
    const InfiniDriver &driver = device.driver();
    void *stream = nullptr;
    Error error = driver.stream_create(device.index, infinirtStreamNonBlocking, 0, &stream);
    if (error == infinirtSuccess) {
        InfiniWork work[2];
        work[0].kind = INFINI_WORK_WAIT;
        work[0].as.event = exec.done;
        work[1].kind = INFINI_WORK_HOST;
        work[1].as.host = {let_go_on_device_thread, held.get()};
        error = driver.submit(device.index, stream, work, 2);
        driver.stream_destroy(device.index, stream);
    }
    held.release();
    return call.driver(error, "waiting for launches in flight");
}

bool Exec::idle() const {
    if (last_stream == 0) return true;
    return home->driver().event_query(home->index, done) != infinirtErrorNotReady;
}

void forget_source(Graph &graph) {
    if (graph.exec) graph.exec->source = nullptr;
    graph.exec = nullptr;
}

namespace impl {

Error GraphInstantiate(Call &call, infinirtGraphExec_t *pGraphExec, Graph &graph,
                       unsigned long long flags) {
    return GraphInstantiateWithFlags(call, pGraphExec, graph, flags);
}

Error GraphInstantiateWithFlags(Call &call, infinirtGraphExec_t *pGraphExec, Graph &graph,
                                unsigned long long flags) {
    if (Error error = check_flags(call, flags, false)) return error;
    Problem problem;
    return instantiate(call, graph, flags, pGraphExec, &problem);
}

Error GraphInstantiateWithParams(Call &call, infinirtGraphExec_t *pGraphExec, Graph &graph,
                                 infinirtGraphInstantiateParams *instantiateParams) {
    Problem problem;
    unsigned long long flags = instantiateParams->flags;
    Error error = check_flags(call, flags, true);
    if (error == infinirtSuccess && (flags & infinirtGraphInstantiateFlagUpload)) {
        Stream *stream =
            call.stream(instantiateParams->uploadStream, 3, "instantiateParams->uploadStream");
        if (!stream) error = call.error();
        if (stream) error = check_not_captured(call, *stream);
    }
    if (error == infinirtSuccess) error = instantiate(call, graph, flags, pGraphExec, &problem);
    instantiateParams->result_out = problem.result;
    instantiateParams->errNode_out = handle_of(problem.node);
    return error;
}

Error GraphExecGetFlags(Call &, Exec &graphExec, unsigned long long *flags) {
    *flags =
        graphExec.flags & ~infinirtGraphInstantiateFlagUpload;  // as in CUDA: for this call only
    return infinirtSuccess;
}

Error GraphExecDestroy(Call &call, Exec &graphExec) {
    if (Error error = check_unsafe_call(call)) return error;
    auto held = std::make_unique<Held>();
    bool idle;
    {
        GraphLock lock;
        std::lock_guard launches(graphExec.mutex());
        if (graphExec.source) graphExec.source->exec = nullptr;
        *held = std::move(graphExec.retired);
        collect(*graphExec.graph, held.get());
        held->user_objects.swap(graphExec.graph->user_objects);
        delete_graph(graphExec.graph);
        idle = graphExec.idle();
    }
    Error error = infinirtSuccess;
    if (idle) {
        let_go(std::move(held));
    } else {
        error = let_go_later(call, graphExec, std::move(held));
    }
    destroy_driver_objects(graphExec);
    ExecTable::get().destroy(&graphExec);
    return error;
}

}  // namespace impl
}  // namespace infini::rt
