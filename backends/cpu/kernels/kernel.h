// What a kernel of the CPU back end is: a planner looks at an operation and makes a plan; the plan
// runs, any number of times and on any thread, with the pointers of each call.
//
// Every .cc file below kernels/ is compiled once for each instruction set. The objects of one set are
// joined and all their symbols made local, so code needs no namespaces or attributes for it: plain
// code, ISA macros (__AVX2__, __ARM_FEATURE_DOTPROD, ...) and `kIsa` say what may be used. Two
// rules follow: no static constructors (they would run on machines without the instructions), and
// nothing outside is used but what this header and threads.h declare.
#pragma once

#include <infini/backend.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "infinicore.h"

namespace infini::cpu {

// ---- Operations ---------------------------------------------------------------------------------

struct Tensor {
    int dtype = 0;  // infiniDtype_t; 0: absent
    int ndim = 0;
    const int64_t *shape = nullptr;
    const int64_t *strides = nullptr;  // in elements

    explicit operator bool() const { return dtype != 0; }
    // Size and stride of a dimension; negative ones count from the end.
    int64_t size(int dim) const { return shape[dim < 0 ? dim + ndim : dim]; }
    int64_t stride(int dim) const { return strides[dim < 0 ? dim + ndim : dim]; }
    int64_t numel() const {
        int64_t count = 1;
        for (int i = 0; i < ndim; ++i) count *= shape[i];
        return count;
    }
    bool contiguous() const {
        int64_t expected = 1;
        for (int i = ndim - 1; i >= 0; --i) {
            if (shape[i] != 1 && strides[i] != expected) return false;
            expected *= shape[i];
        }
        return true;
    }
};

// An operation as planners see it. It is valid only while the planner runs: a plan copies what it
// needs (Shape below keeps a tensor's sizes).
class Operation {
public:
    explicit Operation(const InfiniOperation &operation) : c(operation) {}

    const char *name() const { return c.name; }
    const InfiniProgram *program() const { return c.program; }
    int tensor_count() const { return int(c.tensor_count); }
    Tensor tensor(int index) const {
        const InfiniTensor &t = c.tensors[index];
        return {t.dtype, t.ndim, t.shape, t.strides};
    }
    int64_t integer(int attribute) const { return c.attributes[attribute].value.i; }
    double number(int attribute) const { return c.attributes[attribute].number; }
    // Lists of integers, whatever their type in C; null when the client gave null.
    const int64_t *list(int attribute) const {
        return static_cast<const int64_t *>(c.attributes[attribute].list);
    }
    size_t count(int attribute) const { return c.attributes[attribute].count; }
    const char *text(int attribute) const {
        return static_cast<const char *>(c.attributes[attribute].list);
    }

    const InfiniOperation &c;
};

// A tensor's dtype, sizes and strides, kept.
struct Shape {
    static constexpr int kMost = 8;
    int dtype = 0, ndim = 0;
    int64_t size[kMost], stride[kMost];

    Shape() = default;
    Shape(const Tensor &tensor) : dtype(tensor.dtype), ndim(tensor.ndim) {
        for (int i = 0; i < ndim; ++i) size[i] = tensor.shape[i], stride[i] = tensor.strides[i];
    }
    explicit operator bool() const { return dtype != 0; }
};

// ---- Plans --------------------------------------------------------------------------------------

struct Arguments {
    const InfiniArguments &c;

    template <class T>
    T *pointer(int index) const {
        return static_cast<T *>(c.pointers[index]);
    }
    int64_t integer(int scalar) const { return c.scalars[scalar].i; }
    double number(int scalar) const { return c.scalars[scalar].f; }
    char *workspace() const { return static_cast<char *>(c.workspace); }
};

class Plan {
public:
    virtual ~Plan() = default;
    // Does the work, completely, before it returns. May use several threads (threads.h). Must not
    // throw, allocate large memory (that is what the workspace is for) or keep state in the plan.
    virtual void run(const Arguments &arguments) const = 0;

    size_t workspace = 0;  // bytes, 64-byte aligned when it comes to run()
};

// Makes a plan from a callable: return make_plan([=](const Arguments &a) { ... }, workspace);
template <class Run>
std::unique_ptr<Plan> make_plan(Run run, size_t workspace = 0) {
    struct Callable final : Plan {
        explicit Callable(Run run) : run_(std::move(run)) {}
        void run(const Arguments &arguments) const override { run_(arguments); }
        Run run_;
    };
    auto plan = std::make_unique<Callable>(std::move(run));
    plan->workspace = workspace;
    return plan;
}

// A planner throws this when the operation cannot be done; the sentence goes to the client.
struct Refusal {
    infiniStatus_t status;
    std::string sentence;
};

// Null: this kernel is not for this case, try the operation's program.
using Planner = std::unique_ptr<Plan> (*)(const Operation &);

// ---- Registration -------------------------------------------------------------------------------

struct KernelEntry {
    const char *operation;
    Planner plan;
};

#define INFINI_CPU_TEXT_(x) #x
#define INFINI_CPU_TEXT(x) INFINI_CPU_TEXT_(x)
#define INFINI_CPU_JOIN_(a, b) a##b
#define INFINI_CPU_JOIN(a, b) INFINI_CPU_JOIN_(a, b)

// INFINI_KERNEL("gemm", plan_gemm); at namespace scope: the kernel of an operator. Entries are
// constant data in a section that the registry reads: no constructor runs.
#define INFINI_KERNEL(operation, planner)                                                   \
    [[gnu::section("infini_cpu_" INFINI_CPU_TEXT(INFINI_CPU_ISA)), gnu::used]]              \
    static const ::infini::cpu::KernelEntry INFINI_CPU_JOIN(kernel_entry_, __COUNTER__) = { \
        operation, planner}

}  // namespace infini::cpu
