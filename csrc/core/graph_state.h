// What is inside a graph: its nodes with the locations of their arguments, and how they are launched.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "graph_device.h"
#include "infinicore/graph.hpp"
#include "recorder.h"

namespace infinicore::graph {

class INFINI_EXPORT Graph::State {
public:
    // Takes a record: fuses, assigns memory, instantiates.
    void build(detail::Recorder recorder);

    // Made by the graph itself: inside it, or a result.
    bool is_own(const Memory *memory) const;

    void run();
    void run_node(size_t index);  // one of `nodes`, for the profile

    // Client values that each run first copies into a tensor.
    struct HostArray {
        Tensor tensor;
        const int32_t *values;
        size_t count;
    };
    std::vector<HostArray> host_arrays;

    std::vector<detail::Node> recorded;  // as it was recorded
    std::vector<detail::Node> nodes;     // as it runs
    std::vector<NamedTensor> inputs, outputs;
    // Names tensors of `inputs` or `outputs`. Names stay unique: a generated one gets a number when
    // its name is given to another.
    using Names = std::vector<std::pair<const TensorImpl *, std::string>>;
    void rename(std::vector<NamedTensor> &tensors, const Names &given);
    mutable std::mutex naming;  // held while names change, and while they are copied to be saved
    std::vector<std::shared_ptr<Memory>> constants;  // numbers that the nodes read
    size_t arena_bytes = 0;                          // for what lives only inside a run
    size_t unshared_bytes = 0;                       // its size if nothing shared memory

    // Consecutive nodes, captured as one native graph where possible.
    struct Segment {
        size_t begin, end;
        detail::DeviceRuntime *runtime = nullptr;       // null: it can't be captured
        std::unique_ptr<detail::DeviceGraph> captured;  // null: node by node
        std::string reason;  // why it was not captured though the device has graphs
    };
    const std::vector<Segment> &segments() const { return segments_; }

private:
    uint64_t recording_ = 0;  // its number
    std::shared_ptr<std::atomic<bool>> has_run_ = std::make_shared<std::atomic<bool>>(false);
    struct Launch {
        const detail::Step *step = nullptr;
        std::vector<void *> pointers;
        void *workspace = nullptr;
        GraphOperator *foreign = nullptr;
    };
    void find_inputs(const std::vector<Tensor> &given);
    void find_outputs(const std::vector<std::weak_ptr<TensorImpl>> &made,
                      const std::vector<Memory *> &results);
    void place_memory(const std::vector<std::shared_ptr<Memory>> &inside);
    void instantiate();
    static void perform(const Launch &launch);
    void copy_host_arrays() const;

    std::vector<std::shared_ptr<Memory>> kept_;  // memory that a client's own work uses
    struct Arena {                               // one for each device, with workspace at its end
        std::shared_ptr<Memory> memory;
        detail::DeviceRuntime *runtime;
        infinirtStream_t stream;  // for which it was allocated
    };
    std::vector<Arena> arenas_;
    std::vector<Launch> launches_;
    std::vector<Segment> segments_;
};

}  // namespace infinicore::graph
