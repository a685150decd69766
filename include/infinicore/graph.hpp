// Operations that are recorded once and run any number of times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "context.hpp"
#include "tensor.hpp"

namespace infinicore::graph {

// A non-owning tensor: what an operator of a graph stores for its arguments. The graph keeps the
// memory alive.
class INFINI_EXPORT GraphTensor : public Tensor {
public:
    GraphTensor(const Tensor &tensor);
};

// One step of a graph: derive from it to record your own work.
class INFINI_EXPORT GraphOperator {
public:
    virtual ~GraphOperator() = default;
    virtual void run() const = 0;
    // May run() be captured once and the captured work replayed instead? Return false if it reads
    // values on the host, or works outside the stream.
    virtual bool is_device_graph_capture_safe() const { return true; }
};

// A step that was planned when it was recorded: run() passes the plan to the runner.
class INFINI_EXPORT DispatchableGraphOperator : public GraphOperator {
public:
    ~DispatchableGraphOperator() override {
        if (deleter_) deleter_(&planned_meta_);
    }
    void run() const override { runner_(planned_meta_); }

protected:
    using Runner = void (*)(void *);
    using Deleter = void (*)(void **);
    void *planned_meta_ = nullptr;
    Runner runner_ = nullptr;
    Deleter deleter_ = nullptr;
};

struct NamedTensor {
    std::string name;
    Tensor tensor;
};

class INFINI_EXPORT Graph {
public:
    Graph();
    ~Graph();
    Graph(const Graph &) = delete;

    void run() const;

    // Inputs are tensors that the graph reads but does not create, in the order of first use.
    // Outputs are results that were still referenced when the recording ended. Default names are
    // input0, output0 and so on. Write new values into the inputs (copy_from) instead of replacing
    // them.
    const std::vector<NamedTensor> &inputs() const;
    const std::vector<NamedTensor> &outputs() const;
    Tensor input(const std::string &name) const;  // throws if there is none of that name
    Tensor output(const std::string &name) const;

    // From now on each run() first copies the `n` current values of the array into `tensor`, in
    // stream order. The tensor must be contiguous int32 with n elements, on any device. A second
    // array for the same tensor replaces the first. The caller keeps the array alive as long as the
    // graph is run, and must not bind one while another thread runs it.
    void bind_host_int_array(Tensor tensor, const int32_t *values, size_t n);

    // Writes the operators and the contents of the inputs to a file, from which `load` restores the
    // graph in another process or on another device. The file contains only the bytes that inputs
    // refer to. Throws if a step is not an operator. Bound host arrays are not saved; their tensors
    // become inputs with the current values: bind arrays again to the inputs of the loaded graph.
    void save(const std::string &path) const;
    static std::shared_ptr<Graph> load(const std::string &path, const Device &device);

    class State;
    State &state() const { return *state_; }

private:
    std::unique_ptr<State> state_;
};

}  // namespace infinicore::graph

// In an operator's execute(): records it while a graph is being recorded, else runs it immediately.
// NAME is a class derived from GraphOperator, the rest are the arguments of its constructor.
#define INFINICORE_GRAPH_OP_RECORD_OR_RUN(NAME, ...)                      \
    do {                                                                  \
        auto infinicore_graph_op = std::make_shared<NAME>(__VA_ARGS__);   \
        if (::infinicore::context::isGraphRecording())                    \
            ::infinicore::context::addGraphOperator(infinicore_graph_op); \
        else                                                              \
            infinicore_graph_op->run();                                   \
    } while (false)
