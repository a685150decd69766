// Instantiated graphs.
//
// At instantiation the graph is compiled into lanes. A lane is a stream: lane 0 is the one that the
// graph is launched into, the others are private to the Exec, so that independent branches run in
// parallel. Where a node depends on one in another lane, an event is recorded there and waited for
// here. All of it is ordinary work in one array, cut into segments; a launch submits the segments
// in order. A linear graph is one segment: one submit.
//
// Launches of one Exec run one after the other: each ends with a record of `done`, for which the
// next one waits if it is in another stream.
#pragma once

#include <unordered_map>

#include "graph.h"

namespace infini::rt {

struct GraphMemory;

struct Lane {
    Device *device;
    void *stream;  // the driver's; of lane 0: only made for launches from another device's stream
};

struct DriverEvent {
    Device *device;
    void *event;
};

// Work that is submitted to one lane at once.
struct Segment {
    uint32_t lane;      // in Exec::lanes
    size_t begin, end;  // in Program::work
};

struct Program {
    std::vector<InfiniWork> work;  // the first is the wait for the last launch, and may be left out
    std::vector<Segment> segments;
};

// What launches in flight may use after the Exec is destroyed.
struct Held {
    std::vector<std::shared_ptr<void>> things;  // host calls, memory
    UserObjectReferences user_objects;
};

// An event of the user's that the graph records or waits for.
struct EventUse {
    const Node *node;
    Event *event;  // maybe dead
    void *driver;  // distinguishes the event from a later one with the same handle
    bool records;
};
EventUse event_use(const Node &node);

// The effect of a launch on memory of allocation nodes.
struct MemoryUse {
    std::vector<GraphMemory *> leaves;     // allocates, does not free
    std::vector<GraphMemory *> transient;  // allocates and frees
    std::vector<GraphMemory *> frees;      // frees, was allocated by another graph

    bool any() const { return !leaves.empty() || !transient.empty() || !frees.empty(); }
};

struct Exec {
    Exec(Graph *graph, unsigned long long flags);

    const unsigned long long flags;
    const uint64_t number;

    // Guarded by graph_mutex().
    Graph *const graph;                          // the private clone
    Graph *source = nullptr;                     // whose `exec` points here, if any
    std::unordered_map<uint64_t, Node *> nodes;  // by the id of the node cloned

    // Guarded by mutex(), which is taken after graph_mutex().
    ForkSafeMutex &mutex() const { return StripedMutex<LockRank::Launch>::of(number); }
    Device *home = nullptr;  // of lane 0
    std::vector<Lane> lanes;
    std::vector<DriverEvent> events;  // between lanes
    std::vector<DriverEvent> starts;  // by device that launches came from, other than home
    void *done = nullptr;
    Program program;
    std::vector<EventUse> event_uses;
    MemoryUse memory_use;
    uint64_t last_stream = 0;  // number of the stream of the last launch
    Held retired;              // replaced by updates, maybe in use by launches in flight

    bool idle() const;  // no launch in flight
};

using ExecTable = HandleTable<Exec>;

inline infinirtGraphExec_t handle_of(Exec *exec) {
    return reinterpret_cast<infinirtGraphExec_t>(exec);
}

// Recompiles the private clone. On failure nothing has changed. Both locks are held.
Error compile(Call &call, Exec &exec);
// Destroys the driver's streams and events. Does not wait.
void destroy_driver_objects(Exec &exec);
Error launch(Call &call, Exec &exec, Stream &stream);

// Called without a lock.
void let_go(std::unique_ptr<Held> held);
// Runs when the launches in flight have ended.
Error let_go_later(Call &call, const Exec &exec, std::unique_ptr<Held> held);

// The graph is about to be destroyed; its instantiated copies remain. graph_mutex() is held.
void forget_source(Graph &graph);

}  // namespace infini::rt
