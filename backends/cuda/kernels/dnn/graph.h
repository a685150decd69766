// Graphs of operations for which the vendor's library of neural-network primitives (cuDNN) has an
// engine: one kernel or a few, some of which it compiles for the graph.
//
//     dnn::Graph graph(device);
//     const auto a = graph.tensor(dnn::kHalf, sizes, strides), b = ..., c = ...;
//     graph.multiply(graph.apply(dnn::kExp, dnn::kHalf, a), b, c);
//     auto engine = graph.finish();
//     engine->run({a_pointer, b_pointer, c_pointer}, workspace, stream);
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "kernel.h"
#include "kernels/dnn/objects.h"

namespace infini::cuda::dnn {

enum Type { kFloat = 0, kDouble = 1, kHalf = 2, kBfloat16 = 9 };  // cudnnDataType_t
enum Function {                                                   // cudnnPointwiseMode_t
    kAdd = 0,
    kMultiply = 1,
    kDivide = 6,
    kSubtract = 9,
    kExp = 13,
    kLog = 15,
};
enum Reduction { kSum = 0, kGreatest = 3 };  // cudnnReduceTensorOp_t

using Sizes = std::vector<int64_t>;

// Of the spatial dimensions of a convolution.
struct Steps {
    Sizes pads, strides, dilations;
};

// What an engine has to respect, besides being deterministic.
struct Limits {
    size_t workspace = std::numeric_limits<size_t>::max();
    bool tensor_cores = true;
    bool fallback = false;  // whether engines without a promise of speed are accepted
};

// An engine for a graph on one device.
class Engine {
public:
    // `pointers` are those of the graph's tensors, in creation order, aligned to 16 bytes. Only
    // enqueues; from any thread.
    Error run(const std::vector<void *> &pointers, void *workspace, void *stream) const;
    size_t workspace() const { return workspace_; }

private:
    friend class Graph;
    std::vector<Object> plan_;  // the first is the plan
    std::vector<int64_t> names_;
    std::vector<float> constants_;  // their ids follow those of the tensors
    size_t workspace_ = 0;
    Session *session_ = nullptr;
};

// A tensor of a graph.
struct Tensor {
    size_t part = 0;  // its id; 0: none
    Sizes sizes{};
};

class Graph {
public:
    // Whether the library is available in a supported version.
    static bool can();

    explicit Graph(int device);

    Tensor tensor(Type type, const Sizes &sizes, const Sizes &strides);
    Tensor dense(Type type, const Sizes &sizes);
    // Internal to the engine (virtual).
    Tensor inside(Type type, const Sizes &sizes);
    Tensor constant(float value);

    void multiply(Tensor a, Tensor b, Tensor product);
    Tensor reduce(Reduction how, Tensor x);  // the last dimension is reduced to 1
    Tensor apply(Function function, Type type, Tensor x, Tensor b = {});
    void apply_to(Tensor y, Function function, Tensor x, Tensor b = {});
    // y = x * w + beta y, with sums of type `sums`; transposed: the gradient of such a convolution
    // with respect to its image. Batch and channels are the first two dimensions.
    void convolve(bool transposed, Tensor x, Tensor w, Tensor y, const Steps &steps, Type sums,
                  double beta);

    // Takes the first engine of the library's heuristics that respects the limits. If the library
    // has to compile it, it is cached on disk for later processes. Throws Declined.
    std::unique_ptr<Engine> finish(const Limits &limits = {});

private:
    Tensor keep(Object object, const Sizes &sizes);
    Object describe(Type type, const Sizes &sizes, const Sizes &strides, int64_t name);
    void operation(Object object);
    Object &part(const Tensor &tensor) { return parts_[tensor.part]; }

    Session &session_;
    std::vector<Object> parts_;
    int64_t next_ = 1;  // id of the next tensor
    std::unique_ptr<Engine> engine_ = std::make_unique<Engine>();
    std::vector<void *> operations_;
    std::vector<int64_t> constant_names_;
    std::string text_;  // the whole graph, as a cache key
};

}  // namespace infini::cuda::dnn
