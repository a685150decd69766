// Graphs of operations that the vendor's library of neural-network primitives (cuDNN) compiles to
// one kernel. Opened at run time; enumerators are those of its headers, unchanged since version 9.
//
//     dnn::Graph graph(device);
//     const auto a = graph.tensor(dnn::kHalf, sizes, strides), b = ..., c = ...;
//     graph.multiply(graph.apply(dnn::kExp, dnn::kHalf, a), b, c);
//     auto engine = graph.finish();
//     engine->run({a_pointer, b_pointer, c_pointer}, workspace, stream);
#pragma once

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel.h"
#include "kernels/dnn/session.h"

namespace infini::cuda::dnn {

enum Type { kFloat = 0, kHalf = 2, kBfloat16 = 9 };  // cudnnDataType_t
enum Function {                                      // cudnnPointwiseMode_t
    kAdd = 0,
    kMultiply = 1,
    kDivide = 6,
    kSubtract = 9,
    kExp = 13,
    kLog = 15,
};
enum Reduction { kSum = 0, kGreatest = 3 };  // cudnnReduceTensorOp_t

using Sizes = std::array<int64_t, 4>;

// One of the library's objects. Attributes are set before `finish`; after that it can be used.
class Object {
public:
    explicit Object(int kind);
    ~Object();
    Object(Object &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Object &operator=(Object &&other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }

    // These throw Declined.
    void put(int attribute, int type, int64_t count, const void *values);
    void put(int attribute, const Object &object);
    void put(int attribute, int type, int value) { put(attribute, type, 1, &value); }
    void put(int attribute, int64_t value);
    void put(int attribute, bool value);
    void finish();

    int64_t integer(int attribute) const;
    std::string text(int attribute) const;
    void *handle() const { return handle_; }

private:
    void *handle_ = nullptr;
};

// A kernel for a graph on one device.
class Engine {
public:
    // `pointers` are those of the graph's tensors, in creation order, aligned to 16 bytes. Only
    // enqueues; from any thread.
    Error run(const std::vector<void *> &pointers, void *workspace, void *stream) const;
    size_t workspace() const { return workspace_; }

private:
    friend class Graph;
    std::vector<Object> plan_;  // a single one
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
    // Internal to the kernel (virtual).
    Tensor inside(Type type, const Sizes &sizes);
    Tensor constant(float value);

    void multiply(Tensor a, Tensor b, Tensor product);
    Tensor reduce(Reduction how, Tensor x);  // the last dimension is reduced to 1
    Tensor apply(Function function, Type type, Tensor x, Tensor b = {});

    // Compiles the kernel for these sizes; cached on disk for later processes. Throws Declined.
    std::unique_ptr<Engine> finish();

private:
    Tensor keep(Object object, const Sizes &sizes);
    Object describe(Type type, const Sizes &sizes, const Sizes &strides, int64_t name);
    void operation(Object object);
    Object &part(Tensor tensor) { return parts_[tensor.part]; }
    std::string compile(void *handle) const;
    Object restore(const std::vector<char> &text) const;
    Object plan() const;

    Session &session_;
    std::vector<Object> parts_;
    int64_t next_ = 1;  // id of the next tensor
    std::unique_ptr<Engine> engine_ = std::make_unique<Engine>();
    std::vector<void *> operations_;
    std::vector<int64_t> constant_names_;
    std::string text_;  // the whole graph, as a cache key
};

}  // namespace infini::cuda::dnn
