#include "operators.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "kernels/kernel.h"
#include "plan_operation.h"
#include "runtime/error.h"
#include "runtime/process.h"
#include "runtime/registry.h"

struct InfiniPlan {
    std::atomic<uint32_t> holders{1};
    std::unique_ptr<infini::cpu::Plan> plan;
    bool is_short;
};

namespace infini::cpu {
namespace {

constexpr int64_t kShortElements = 16 << 10;  // of all tensors together

bool few_elements(const Operation &operation) {
    int64_t sum = 0;
    for (int i = 0; i < operation.tensor_count(); ++i) {
        Tensor tensor = operation.tensor(i);
        if (tensor) sum += tensor.numel();
        if (sum > kShortElements) return false;
    }
    return true;
}

int plan(int, const InfiniOperation *c, InfiniPlan **result, size_t *workspace_bytes) try {
    const Operation operation(*c);
    auto made =
        plan_by_name([](const std::string &name) { return find_planner(name.c_str()); }, operation);
    if (!made && !has_kernels()) {
        fail(infinirtErrorNotSupported,
             "the CPU's kernels were compiled for %sonly, which this processor lacks: install "
             "infinicore on this machine, or with INFINI_CPU_ISAS=all",
             compiled_instruction_sets());
        return INFINI_STATUS_NOT_IMPLEMENTED;
    }
    if (!made) {
        fail(infinirtErrorNotSupported, "the CPU has no kernel for this case of %s", c->name);
        return INFINI_STATUS_NOT_IMPLEMENTED;
    }
    *workspace_bytes = made->workspace ? made->workspace + 63 : 0;  // room to align it
    *result = new InfiniPlan;
    (*result)->plan = std::move(made);
    (*result)->is_short = few_elements(operation);
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return explain_failed_plan(c->name, fail);
}

void hold(InfiniPlan *plan) { plan->holders.fetch_add(1, std::memory_order_relaxed); }

void drop(InfiniPlan *plan) {
    if (plan->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete plan;
}

void run(const InfiniPlan &plan, const InfiniArguments &arguments) {
    InfiniArguments aligned = arguments;
    auto address = reinterpret_cast<uintptr_t>(arguments.workspace);
    aligned.workspace = reinterpret_cast<void *>((address + 63) & ~uintptr_t(63));
    plan.plan->run(Arguments{aligned});
}

}  // namespace

const InfiniOperators operators = {sizeof(InfiniOperators), plan, hold, drop};

void run_kernel(const InfiniKernel &kernel) { run(*kernel.plan, *kernel.arguments); }

bool is_short(const InfiniKernel &kernel) { return kernel.plan->is_short; }

// The arguments follow the object in the same allocation.
struct QueuedKernel {
    InfiniPlan *plan;
    InfiniArguments arguments;
};

QueuedKernel *keep(const InfiniKernel &kernel) {
    const InfiniArguments &given = *kernel.arguments;
    size_t pointer_bytes = given.pointer_count * sizeof(void *);
    size_t scalar_bytes = given.scalar_count * sizeof(InfiniScalar);
    void *memory = std::malloc(sizeof(QueuedKernel) + pointer_bytes + scalar_bytes);
    if (!memory) return nullptr;
    auto *queued = new (memory) QueuedKernel{kernel.plan, given};
    char *behind = reinterpret_cast<char *>(queued + 1);
    if (pointer_bytes) std::memcpy(behind, given.pointers, pointer_bytes);
    if (scalar_bytes) std::memcpy(behind + pointer_bytes, given.scalars, scalar_bytes);
    queued->arguments.pointers = reinterpret_cast<void *const *>(behind);
    queued->arguments.scalars = reinterpret_cast<InfiniScalar *>(behind + pointer_bytes);
    hold(kernel.plan);
    return queued;
}

void run_and_drop(QueuedKernel *kernel) {
    run(*kernel->plan, kernel->arguments);
    drop(kernel->plan);
    std::free(kernel);
}

}  // namespace infini::cpu
