// A kernel of the CPU back end: a planner inspects an operation and makes a plan; the plan runs any
// number of times, on any thread, with the pointers of each call.
//
// Every .cc file below kernels/ is compiled once for each instruction set. The objects of one set
// are linked together and their symbols made local, so no namespaces or attributes are needed: the
// code tests ISA macros (__AVX2__, __ARM_FEATURE_DOTPROD, ...) and `kIsa`. Two rules follow: no
// static constructors (they would run on machines without the instructions), and only the outside
// functions that this header and threads.h declare are used.
#pragma once

#include <infini/operation.h>

#include <cstdio>
#include <memory>

namespace infini::cpu {

// ---- Plans --------------------------------------------------------------------------------------

class Plan {
public:
    virtual ~Plan() = default;
    // Completes the work before it returns. May use several threads (threads.h). Must not throw,
    // allocate large memory (use the workspace) or keep state in the plan.
    virtual void run(const Arguments &arguments) const = 0;

    size_t workspace = 0;  // bytes; 64-byte aligned in run()
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

// Returns null if the kernel does not support the case; then the operation's program is tried.
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

// INFINI_KERNEL("gemm", plan_gemm); at namespace scope registers an operator's kernel. Entries are
// constant data in a section that the registry reads: no constructor runs.
#define INFINI_KERNEL(operation, planner)                                                   \
    [[gnu::section("infini_cpu_" INFINI_CPU_TEXT(INFINI_CPU_ISA)), gnu::used]]              \
    static const ::infini::cpu::KernelEntry INFINI_CPU_JOIN(kernel_entry_, __COUNTER__) = { \
        operation, planner}

}  // namespace infini::cpu
