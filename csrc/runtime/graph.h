// Graphs and their nodes. Instantiated graphs are in exec.h.
//
// Ownership: a Graph owns its nodes; a child node owns its own graph; an Exec owns a private clone
// of the graph it was instantiated from, so later edits of the graph do not affect it. Whatever may
// still be in use when its last owner is gone (memory of allocation nodes, host calls, references
// to user objects) is held by reference-counted pointers. All of it is guarded by graph_mutex().
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "capture.h"
#include "memory.h"

namespace infini::rt {

struct Exec;
struct GraphMemory;  // graph_memory.h

struct UserObject {
    UserObject(void *pointer, infinirtHostFn_t destroy, unsigned references)
        : pointer(pointer), destroy(destroy), references(references) {}
    void *const pointer;
    const infinirtHostFn_t destroy;
    uint64_t references;  // the client's own
    uint64_t held = 0;    // by graphs and instantiated graphs
};
using UserObjectReferences = std::vector<std::pair<UserObject *, uint64_t>>;

// An operator's plan and a copy of its arguments.
class KernelCall {
public:
    KernelCall(const InfiniOperators &operators, const InfiniKernel &kernel);
    ~KernelCall() { operators_.drop(plan_); }
    KernelCall(const KernelCall &) = delete;
    KernelCall &operator=(const KernelCall &) = delete;
    InfiniKernel kernel() const { return {plan_, &arguments_}; }

private:
    const InfiniOperators &operators_;
    InfiniPlan *const plan_;
    std::vector<void *> pointers_;
    std::vector<InfiniScalar> scalars_;
    InfiniArguments arguments_;
};

// What a node does, by its type. All of it has been checked.
struct NodeParameters {
    InfiniWork work{};                   // Memcpy, Memset, Host, Kernel: what is submitted
    infinirtMemcpy3DParms copy{};        // Memcpy
    infinirtMemsetParams fill{};         // Memset
    std::shared_ptr<HostCall> host;      // Host: what `work` calls; never changed, only replaced
    std::shared_ptr<KernelCall> kernel;  // Kernel: the same
    Event *event = nullptr;              // EventRecord, WaitEvent: may be dead, so look it up
    infinirtMemAllocNodeParams allocation{};  // MemAlloc
    std::shared_ptr<GraphMemory> memory;      // MemAlloc, MemFree
};

struct Node : NodeParameters {
    Node(Graph &graph, infinirtGraphNodeType type, Device &device);

    Graph *const graph;
    const infinirtGraphNodeType type;
    const uint64_t id;         // never used twice
    uint64_t cloned_from = 0;  // id of the node that this is a copy of
    Device *const device;      // where the work runs
    std::vector<Node *> dependencies, dependents;
    Graph *child = nullptr;  // Graph

    // In the private clone of an Exec.
    static constexpr size_t kNowhere = SIZE_MAX;
    bool enabled = true;
    size_t position = kNowhere;  // of its work among the compiled work

    size_t mark = 0;  // scratch of whoever walks over the graph
};

struct Graph {
    Graph();

    const uint64_t id;
    std::vector<Node *> nodes;  // in order of creation
    Node *owner = nullptr;      // the child node that this graph belongs to
    Exec *exec = nullptr;       // of a graph with memory nodes: the only one made from it
    UserObjectReferences user_objects;
};

using GraphTable = HandleTable<Graph>;
using NodeTable = HandleTable<Node>;
using UserObjectTable = HandleTable<UserObject>;

inline infinirtGraph_t handle_of(Graph *graph) { return reinterpret_cast<infinirtGraph_t>(graph); }
inline infinirtGraphNode_t handle_of(Node *node) {
    return reinterpret_cast<infinirtGraphNode_t>(node);
}

// Holds graph_mutex(). Deferred work (calling users' destructors, releasing device memory) is done
// after unlocking, since neither may be done with a lock held.
class GraphLock {
public:
    GraphLock() { graph_mutex().lock(); }
    ~GraphLock();
    GraphLock(const GraphLock &) = delete;
    GraphLock &operator=(const GraphLock &) = delete;
};
// Runs deferred work; call it without a lock. Returns false, after an atomic load, if there is
// none.
bool sweep_graph_leftovers();

// All of the following need graph_mutex(). They return null when memory is short.
Graph *new_graph();
void delete_graph(Graph *graph);
Graph *clone_graph(const Graph &graph);
Node *add_node(Graph &graph, infinirtGraphNodeType type, Device &device,
               const std::vector<Node *> &dependencies);
void delete_node(Node *node);
// The node's type follows from work.kind; HOST carries the user's own function.
Node *add_work_node(Graph &graph, Device &device, const InfiniWork &work,
                    const std::vector<Node *> &dependencies);

bool has_memory_nodes(const Graph &graph);  // its child graphs included
bool is_captured(const Graph &graph);       // being captured into right now
// The nodes in topological order; those on or after a cycle are left out.
std::vector<Node *> topological_order(const Graph &graph);

// Counts the references of graphs. When no reference is left at all, the user's destructor is
// deferred.
void retain(const UserObjectReferences &objects);
void release(const UserObjectReferences &objects);

// For MallocAsync and FreeAsync under capture (graph_mutex() held). On success *node is set.
Error add_allocation_node(Call &call, Graph &graph, Device &device, size_t bytes,
                          const std::vector<Node *> &dependencies, Node **node, void **pointer);
Error add_free_node(Call &call, Graph &graph, Device &device, void *pointer,
                    const std::vector<Node *> &dependencies, Node **node);
// Free or FreeAsync of memory that a launched graph allocated; called without a lock. With a
// stream, the memory may be in use until the work submitted to it so far is done. False if
// `pointer` is no such memory.
bool free_graph_memory(const void *pointer, Stream *stream = nullptr);

}  // namespace infini::rt
