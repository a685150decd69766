// A kernel of the CPU back end: a planner inspects an operation and makes a plan; the plan
// runs, any number of times and on any thread, with the pointers of each call.
//
// Every .cc file below kernels/ is compiled once for each instruction set. The objects of one set
// are joined and all their symbols made local, so code needs no namespaces or attributes for it:
// plain code, ISA macros (__AVX2__, __ARM_FEATURE_DOTPROD, ...) and `kIsa` say what may be used.
// Two rules follow: no static constructors (they would run on machines without the instructions),
// and nothing outside is used but what this header and threads.h declare.
#pragma once

#include <infini/operation.h>

#include <cstdio>
#include <memory>

namespace infini::cpu {

// ---- Plans --------------------------------------------------------------------------------------

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
