// Memory of allocation nodes.
//
// It is allocated when the node is created, since its address must be known then, and is held by
// the node, its clones, and the nodes that free it. Between a launch that allocates it and whatever
// frees it the memory is live and holds itself, so it outlives its graph (CUDA's rule). When
// nothing holds it any more its release is deferred, and the next sweep returns it to the device.
#pragma once

#include <memory>
#include <vector>

#include "exec.h"

namespace infini::rt {

struct GraphMemory : std::enable_shared_from_this<GraphMemory> {
    GraphMemory(Device &device, void *base, size_t bytes)
        : device(device), base(base), bytes(bytes) {}

    Device &device;
    void *const base;
    const size_t bytes;
    std::vector<infinirtMemAccessDesc> access;  // as the client gave it

    // Guarded by graph_memory_mutex().
    bool live = false;
    std::shared_ptr<GraphMemory> self;  // while live
};

// Guards live memory and deferred releases. Locked after graph_mutex() and an Exec's mutex.
ForkSafeMutex &graph_memory_mutex();

// A user's destructor, to be called by the next sweep.
void leave_over(const HostCall &destructor);

// Allocates device memory. Null with the error recorded. Needs no lock.
std::shared_ptr<GraphMemory> reserve_graph_memory(Call &call, Device &device, size_t bytes);
// The memory of an allocation node that begins at `base`, or null.
std::shared_ptr<GraphMemory> find_graph_memory(const void *base);

// A free node of `graph` for `pointer`: the memory, or null with the error recorded.
std::shared_ptr<GraphMemory> check_free_node(Call &call, const Graph &graph, const void *pointer);

// The effect of a launch of the graph on memory, including its child graphs.
MemoryUse memory_use(const Graph &graph);
// The allocations and frees of a launch. It is an error to allocate live memory (unless the launch
// frees it first) or to free memory that is not live. An Exec's mutex is held.
Error use_memory(Call &call, const MemoryUse &use, bool free_first);

}  // namespace infini::rt
