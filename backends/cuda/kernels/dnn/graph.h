// Graphs of operations that the vendor's library of neural-network primitives (cuDNN) makes one
// kernel of. Opened at run time; numbers are those of its headers, which have not changed since its
// version 9.
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

// One of the library's objects. Before `finish` attributes are put into it, after that it is used.
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

// A kernel for a graph, on one device.
class Engine {
public:
    // `pointers` are of the graph's tensors, in the order in which they were made, and aligned to
    // 16 bytes. Only enqueues; from any thread.
    Error run(const std::vector<void *> &pointers, void *workspace, void *stream) const;
    size_t workspace() const { return workspace_; }

private:
    friend class Graph;
    std::vector<Object> plan_;  // one
    std::vector<int64_t> names_;
    std::vector<float> constants_;  // their names come after the tensors'
    size_t workspace_ = 0;
    Session *session_ = nullptr;
};

// Of a graph.
struct Tensor {
    size_t part = 0;  // its place, 0: none
    Sizes sizes{};
};

class Graph {
public:
    // Whether the library is there, in a version that this is for.
    static bool can();

    explicit Graph(int device);

    Tensor tensor(Type type, const Sizes &sizes, const Sizes &strides);
    // Known to the kernel alone.
    Tensor inside(Type type, const Sizes &sizes);
    Tensor constant(float value);

    void multiply(Tensor a, Tensor b, Tensor product);
    Tensor reduce(Reduction how, Tensor x);  // the last dimension becomes 1
    Tensor apply(Function function, Type type, Tensor x, Tensor b = {});

    // Makes the kernel, for these sizes; later processes have it from the disk. Throws Declined.
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
    int64_t next_ = 1;  // name of a tensor
    std::unique_ptr<Engine> engine_ = std::make_unique<Engine>();
    std::vector<void *> operations_;
    std::vector<int64_t> constant_names_;
    std::string text_;  // all of it, to know it again
};

}  // namespace infini::cuda::dnn
