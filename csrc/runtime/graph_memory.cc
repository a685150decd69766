#include "graph_memory.h"

#include <cstring>
#include <map>

#include "impl.h"

namespace infini::rt {
namespace {

// Guarded by graph_memory_mutex().
struct Leftovers {
    std::vector<GraphMemory *> memory;
    std::vector<HostCall> destructors;
    std::map<uintptr_t, std::weak_ptr<GraphMemory>> known;  // in use: by address
};

Leftovers &leftovers() {
    static auto *instance = new Leftovers;
    return *instance;
}

std::atomic<bool> any_leftovers{false};

uintptr_t address(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }

void raise(std::atomic<uint64_t> &mark, uint64_t value) {
    uint64_t old = mark.load(std::memory_order_relaxed);
    while (old < value && !mark.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
    }
}

void grow(std::atomic<uint64_t> &amount, std::atomic<uint64_t> &mark, uint64_t bytes) {
    raise(mark, amount.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

// There are no holders any more. The thread that released it last may hold locks, or belong to the
// device.
void leave_over(GraphMemory *memory) {
    std::lock_guard lock(graph_memory_mutex());
    leftovers().known.erase(address(memory->base));
    leftovers().memory.push_back(memory);
    any_leftovers.store(true, std::memory_order_release);
}

void give_back(GraphMemory *memory) {
    MemoryRange range;
    Device &device = memory->device;
    remove_memory(memory->base, MemoryKind::Graph, &range);
    device.driver().release(device.index, memory->base, memory->bytes);
    device.graph_memory_reserved.fetch_sub(memory->bytes, std::memory_order_relaxed);
    delete memory;
}

}  // namespace

ForkSafeMutex &graph_memory_mutex() {
    static auto *mutex = new ForkSafeMutex(LockRank::GraphMemory);
    return *mutex;
}

void leave_over(const HostCall &destructor) {
    std::lock_guard lock(graph_memory_mutex());
    leftovers().destructors.push_back(destructor);
    any_leftovers.store(true, std::memory_order_release);
}

bool sweep_graph_leftovers() {
    if (!any_leftovers.load(std::memory_order_acquire)) return false;
    std::vector<GraphMemory *> memory;
    std::vector<HostCall> destructors;
    // A device thread may call a client's destructor, but must not call the device.
    bool on_device_thread = Thread::current().host_function_depth > 0;
    {
        std::lock_guard lock(graph_memory_mutex());
        destructors.swap(leftovers().destructors);
        if (!on_device_thread) memory.swap(leftovers().memory);
        any_leftovers.store(!leftovers().memory.empty(), std::memory_order_relaxed);
    }
    for (HostCall &destructor : destructors) HostCall::run(&destructor);
    for (GraphMemory *each : memory) give_back(each);
    return !memory.empty();
}

std::shared_ptr<GraphMemory> reserve_graph_memory(Call &call, Device &device, size_t bytes) {
    if (bytes == 0) {
        call.invalid("the size is 0: expected at least one byte to allocate");
        return nullptr;
    }
    void *base = nullptr;
    Error error = device.driver().allocate(device.index, bytes, &base);
    if (error != infinirtSuccess) {
        call.driver(error, "the device did not give the memory");
        return nullptr;
    }
    auto *made = new GraphMemory(device, base, bytes);
    MemoryRange range;
    range.base = address(base);
    range.bytes = bytes;
    range.kind = MemoryKind::Graph;
    range.device = &device;
    add_memory(range);
    grow(device.graph_memory_reserved, device.graph_memory_reserved_high, bytes);
    std::shared_ptr<GraphMemory> memory(made, [](GraphMemory *last) { leave_over(last); });
    std::lock_guard lock(graph_memory_mutex());
    leftovers().known[range.base] = memory;
    return memory;
}

std::shared_ptr<GraphMemory> find_graph_memory(const void *base) {
    std::lock_guard lock(graph_memory_mutex());
    auto found = leftovers().known.find(address(base));
    return found == leftovers().known.end() ? nullptr : found->second.lock();
}

std::shared_ptr<GraphMemory> check_free_node(Call &call, const Graph &graph, const void *pointer) {
    std::shared_ptr<GraphMemory> memory = find_graph_memory(pointer);
    if (!memory) {
        call.invalid(
            "the address (dptr) is %p, not that of an allocation node: expected one that "
            "infinirtGraphAddMemAllocNode or a captured infinirtMallocAsync gave",
            pointer);
        return nullptr;
    }
    for (const Node *node : graph.nodes) {
        if (node->type != infinirtGraphNodeTypeMemFree || node->memory != memory) continue;
        call.invalid("the address %p is freed by another node of the graph", pointer);
        return nullptr;
    }
    return memory;
}

Error add_allocation_node(Call &call, Graph &graph, Device &device, size_t bytes,
                          const std::vector<Node *> &dependencies, Node **node, void **pointer) {
    std::shared_ptr<GraphMemory> memory = reserve_graph_memory(call, device, bytes);
    if (!memory) return call.error();
    *node = add_node(graph, infinirtGraphNodeTypeMemAlloc, device, dependencies);
    if (!*node) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
    infinirtMemAllocNodeParams &allocation = (*node)->allocation;
    allocation.poolProps.allocType = infinirtMemAllocationTypePinned;
    allocation.poolProps.location = {infinirtMemLocationTypeDevice, device.index};
    allocation.bytesize = bytes;
    allocation.dptr = *pointer = memory->base;
    (*node)->memory = std::move(memory);
    return infinirtSuccess;
}

Error add_free_node(Call &call, Graph &graph, Device &device, void *pointer,
                    const std::vector<Node *> &dependencies, Node **node) {
    std::shared_ptr<GraphMemory> memory = check_free_node(call, graph, pointer);
    if (!memory) return call.error();
    *node = add_node(graph, infinirtGraphNodeTypeMemFree, device, dependencies);
    if (!*node) return call.fail(infinirtErrorMemoryAllocation, "too many graph nodes");
    (*node)->memory = std::move(memory);
    return infinirtSuccess;
}

namespace {

void list_memory(const Graph &graph, MemoryUse *use) {
    for (const Node *node : graph.nodes) {
        if (node->type == infinirtGraphNodeTypeMemAlloc) use->leaves.push_back(node->memory.get());
        if (node->type == infinirtGraphNodeTypeMemFree) use->frees.push_back(node->memory.get());
        if (node->child) list_memory(*node->child, use);
    }
}

}  // namespace

MemoryUse memory_use(const Graph &graph) {
    MemoryUse use;
    list_memory(graph, &use);
    std::erase_if(use.frees, [&](GraphMemory *memory) {
        if (std::erase(use.leaves, memory) == 0) return false;
        use.transient.push_back(memory);
        return true;
    });
    return use;
}

Error use_memory(Call &call, const MemoryUse &use, bool free_first) {
    std::vector<std::shared_ptr<GraphMemory>> freed;  // released after the lock
    std::lock_guard lock(graph_memory_mutex());
    for (auto *list : {&use.leaves, &use.transient})
        for (const GraphMemory *memory : *list)
            if (memory->live && !free_first)
                return call.invalid(
                    "the memory at %p, which an earlier launch allocated, was not freed: free it "
                    "first, or instantiate with infinirtGraphInstantiateFlagAutoFreeOnLaunch",
                    memory->base);
    for (const GraphMemory *memory : use.frees)
        if (!memory->live)
            return call.invalid(
                "the graph frees memory at %p that is not allocated now: expected a launch of the "
                "graph that allocates it before",
                memory->base);

    auto begin = [](GraphMemory *memory) {
        Device &device = memory->device;
        if (!memory->live)
            grow(device.graph_memory_used, device.graph_memory_used_high, memory->bytes);
        memory->live = true;
    };
    auto end = [&](GraphMemory *memory) {
        memory->device.graph_memory_used.fetch_sub(memory->bytes, std::memory_order_relaxed);
        memory->live = false;
        if (memory->self) freed.push_back(std::move(memory->self));
    };
    for (GraphMemory *memory : use.leaves) {
        begin(memory);
        memory->self = memory->shared_from_this();
    }
    for (GraphMemory *memory : use.transient) begin(memory);
    for (GraphMemory *memory : use.transient) end(memory);
    for (GraphMemory *memory : use.frees) end(memory);
    return infinirtSuccess;
}

bool free_graph_memory(const void *pointer, Stream *stream) {
    std::shared_ptr<GraphMemory> memory = find_graph_memory(pointer);
    if (!memory) return false;
    std::shared_ptr<GraphMemory> self;
    {
        std::lock_guard lock(graph_memory_mutex());
        if (!memory->live) return false;
        memory->live = false;
        self = std::move(memory->self);
    }
    Device &device = memory->device;
    device.graph_memory_used.fetch_sub(memory->bytes, std::memory_order_relaxed);
    if (stream) {
        // Held until the stream reaches this point: earlier work may use the memory after all its
        // graphs are destroyed.
        using Reference = std::shared_ptr<GraphMemory>;
        auto *last = new Reference(std::move(self));
        InfiniWork work;
        work.kind = INFINI_WORK_HOST;
        work.as.host = {[](void *reference) { delete static_cast<Reference *>(reference); }, last};
        stream->position.fetch_add(1, std::memory_order_relaxed);
        Device &runs = stream->device;
        if (runs.driver().submit(runs.index, stream->driver, &work, 1) != infinirtSuccess)
            delete last;
    } else {
        device.driver().device_synchronize(
            device.index);  // as for all memory that is freed immediately
    }
    self.reset();
    memory.reset();
    sweep_graph_leftovers();
    return true;
}

namespace impl {
namespace {

std::atomic<uint64_t> *attribute(Device &device, infinirtGraphMemAttributeType attr) {
    switch (attr) {
        case infinirtGraphMemAttrUsedMemCurrent:
            return &device.graph_memory_used;
        case infinirtGraphMemAttrUsedMemHigh:
            return &device.graph_memory_used_high;
        case infinirtGraphMemAttrReservedMemCurrent:
            return &device.graph_memory_reserved;
        case infinirtGraphMemAttrReservedMemHigh:
            return &device.graph_memory_reserved_high;
        default:
            return nullptr;
    }
}

}  // namespace

// Memory whose graphs still exist keeps its address, so only unused memory can be freed.
Error DeviceGraphMemTrim(Call &call, int device) {
    if (!device_argument(call, device, "device")) return call.error();
    sweep_graph_leftovers();
    return infinirtSuccess;
}

Error DeviceGetGraphMemAttribute(Call &call, int device, infinirtGraphMemAttributeType attr,
                                 void *value) {
    Device *which = device_argument(call, device, "device");
    if (!which) return call.error();
    std::atomic<uint64_t> *amount = attribute(*which, attr);
    if (!amount)
        return call.invalid(
            "argument 2 (attr) is %d: expected used or reserved memory, current or high (0 to 3)",
            static_cast<int>(attr));
    uint64_t bytes = amount->load(std::memory_order_relaxed);
    memcpy(value, &bytes, sizeof bytes);  // the client's pointer may be misaligned
    return infinirtSuccess;
}

Error DeviceSetGraphMemAttribute(Call &call, int device, infinirtGraphMemAttributeType attr,
                                 void *value) {
    Device *which = device_argument(call, device, "device");
    if (!which) return call.error();
    bool used = attr == infinirtGraphMemAttrUsedMemHigh;
    if (!used && attr != infinirtGraphMemAttrReservedMemHigh)
        return call.invalid("argument 2 (attr) is %d: expected one of the two high-water marks",
                            static_cast<int>(attr));
    unsigned long long wanted;
    static_assert(sizeof wanted == sizeof(uint64_t));
    memcpy(&wanted, value, sizeof wanted);
    if (wanted != 0)
        return call.invalid("argument 3 (value) points to %llu: expected 0, which resets the mark",
                            wanted);
    auto &current = used ? which->graph_memory_used : which->graph_memory_reserved;
    attribute(*which, attr)
        ->store(current.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return infinirtSuccess;
}

}  // namespace impl
}  // namespace infini::rt
