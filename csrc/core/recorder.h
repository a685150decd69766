// Operations that are recorded instead of run: while a graph is recorded, and while a function
// is traced over tensors without data.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "infinicore/graph.hpp"
#include "step.h"

namespace infinicore::detail {

// Memory without an address. In a trace it never gets one: it represents an argument, or a result.
class INFINI_EXPORT OpenMemory final : public Memory {
public:
    enum class Role {
        Argument,  // of the traced function: its tensor number `index`
        Number,    // the same for a number, as an element of a tensor of type `dtype`
        Result     // made by a step of the trace, or of the graph
    };
    OpenMemory(size_t size, Device device, Role role, int index, bool traced,
               uint64_t recording = 0)
        : Memory(nullptr, size, device),
          role(role),
          index(index),
          traced(traced),
          recording(recording) {}

    const Role role;
    int index;                 // Result: set by the user of the record
    const bool traced;         // else it belongs to a graph and may be placed
    const uint64_t recording;  // whose result it is; 0: a trace's
    DataType dtype = DataType::BYTE;
    // Whether the graph has run whose result this is; null inside a graph, or of a trace.
    std::shared_ptr<const std::atomic<bool>> has_run;

    // How the argument that takes a result overlaps the others, by number; unknown for two others.
    enum Meets : uint8_t {
        kApart,
        kSame,
        kPart
    };  // disjoint, element by element, in any other way
    bool takes_result = false;
    std::vector<uint8_t> meets;  // empty: disjoint from all

    // Gives it an address in another memory, which it then holds. Called when the graph is
    // complete.
    void put(std::shared_ptr<Memory> at, size_t offset);

private:
    void place() override;
    std::shared_ptr<Memory> home_;
};

// The memory of an argument.
struct Location {
    std::shared_ptr<Memory> memory;  // null: an absent tensor
    size_t offset = 0;               // bytes
};

// An entry of a record: a step with the locations of its arguments, or work of a client's own.
struct Node {
    std::shared_ptr<const Step> step;
    std::vector<Location> locations;
    std::shared_ptr<graph::GraphOperator> foreign;
};

// The number of recorders in all threads: usually none, which is cheaper to see than that this
// thread has none.
struct INFINI_EXPORT RecorderCount {
    RecorderCount() { total.fetch_add(1, std::memory_order_relaxed); }
    RecorderCount(const RecorderCount &) : RecorderCount() {}
    ~RecorderCount() { total.fetch_sub(1, std::memory_order_relaxed); }
    static std::atomic<int> total;
};

class INFINI_EXPORT Recorder {
public:
    explicit Recorder(bool traced);

    const bool traced;      // a function's trace; else a graph
    const uint64_t number;  // of the recording, in this process
    const uint32_t modes = infiniGetModes();
    std::vector<Node> nodes;
    std::vector<std::shared_ptr<Memory>> constants;  // scalars: not inputs of the graph
    std::vector<std::shared_ptr<Memory>> kept;       // what a client's own work uses

    // Tensors that a client passed to calls and that are not from this recording, and those that it
    // got from it: the graph's inputs and outputs are identified by the client's tensors.
    std::vector<Tensor> given;
    std::vector<std::weak_ptr<TensorImpl>> made;
    void note_given(const Tensor &tensor);
    void note_made(const Tensor &tensor);

    std::shared_ptr<Memory> allocate(size_t bytes, const Device &device);

private:
    std::unordered_set<const TensorImpl *> known_;  // in one of the two
    RecorderCount counted_;
};

// Memory for a result: from the allocator, or an OpenMemory while this thread records.
INFINI_EXPORT std::shared_ptr<Memory> new_memory(DeviceRuntime &runtime, size_t bytes);

// Sets the thread's modes for a scope.
class ModesScope {
public:
    explicit ModesScope(uint32_t modes) : before_(infiniGetModes()) { infiniSetModes(modes); }
    ~ModesScope() { infiniSetModes(before_); }
    ModesScope(const ModesScope &) = delete;

private:
    uint32_t before_;
};

// The graph that this thread records, if any.
INFINI_EXPORT Recorder *recorder_of_thread();
inline Recorder *recorded_graph() {
    const bool some = RecorderCount::total.load(std::memory_order_relaxed) != 0;
    return some ? recorder_of_thread() : nullptr;
}

// Fuses steps where that saves memory traffic: chains of maps, norms with the maps after them,
// matrix products with their epilogues. `needed` says whether a memory is read from outside. The
// order of the remaining steps is kept.
INFINI_EXPORT std::vector<Node> fuse(std::vector<Node> nodes,
                                     const std::function<bool(const Memory *)> &needed);

}  // namespace infinicore::detail

namespace infinicore::collectives {

// Discards the group that this thread has begun in a recording, e.g. after an error inside it.
INFINI_EXPORT void drop_group();

}  // namespace infinicore::collectives
