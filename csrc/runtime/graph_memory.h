// Memory of allocation nodes.
//
// It is taken from the device when the node is made, since its address must be known then, and is
// held by the node, its clones, and the nodes that free it. Between a launch that allocates it and
// whatever frees it the memory is live and holds itself, so it outlives its graph (CUDA's rule).
// When nobody holds it any more it is left over, and the next sweep gives it back to the device.
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

// Guards what is live, and all that is left over. Taken after graph_mutex() and an Exec's mutex.
ForkSafeMutex &graph_memory_mutex();

// A client's destructor, to be called by the next sweep.
void leave_over(const HostCall &destructor);

// Takes memory from the device. Null with the error recorded. No lock needed.
std::shared_ptr<GraphMemory> reserve_graph_memory(Call &call, Device &device, size_t bytes);
// The memory of an allocation node that begins at `base`, or null.
std::shared_ptr<GraphMemory> find_graph_memory(const void *base);

// A free node of `graph` for `pointer`: the memory, or null with the error recorded.
std::shared_ptr<GraphMemory> check_free_node(Call &call, const Graph &graph, const void *pointer);

// What a launch of the graph does to memory; its child graphs included.
MemoryUse memory_use(const Graph &graph);
// A launch allocates and frees. Refuses to allocate what is live (unless it is to be freed first)
// and to free what is not. With an Exec's mutex held.
Error use_memory(Call &call, const MemoryUse &use, bool free_first);

}  // namespace infini::rt
