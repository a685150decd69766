// Operations that were recorded once and run any number of times.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "context.hpp"
#include "tensor.hpp"

namespace infinicore::graph {

// A tensor's place without a hold on it: what an operator of a graph keeps of its arguments. The
// graph itself keeps the memory.
class INFINI_EXPORT GraphTensor : public Tensor {
public:
    GraphTensor(const Tensor &tensor);
};

// One step of a graph: derive from it to record work of your own.
class INFINI_EXPORT GraphOperator {
public:
    virtual ~GraphOperator() = default;
    virtual void run() const = 0;
    // May run() be called once, into a stream that is being captured, and the captured work be
    // replayed instead? Not if it reads values on the host, or does work outside the stream.
    virtual bool is_device_graph_capture_safe() const { return true; }
};

// A step that was planned when it was recorded: run() hands the plan to the runner.
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

    // Tensors that the graph reads and does not make, in the order of their first use, and its
    // results: tensors that somebody held when the recording ended. Unless they were named they
    // are called input0, output0 and so on. Write new values into the inputs (copy_from), not
    // other tensors.
    const std::vector<NamedTensor> &inputs() const;
    const std::vector<NamedTensor> &outputs() const;
    Tensor input(const std::string &name) const;  // throws when there is none of the name
    Tensor output(const std::string &name) const;

    // From now on each run() begins with a copy of the `n` values, as they are at that moment, into
    // `tensor`: contiguous int32 of n elements, on any device, where the copy is done in stream order. A
    // second array for the same tensor takes the place of the first. The caller keeps the array
    // as long as the graph is run, and binds none while another thread runs it.
    void bind_host_int_array(Tensor tensor, const int32_t *values, size_t n);

    // Writes the operators and the contents of the inputs to a file, from which `load` makes the
    // graph again: in another process, on another device. The file holds the bytes that inputs
    // refer to and none beside them. Throws when a step is not an operator's. Host arrays are not
    // saved, the tensors that they are bound to are inputs with their present values: bind arrays
    // to the inputs of the loaded graph.
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
