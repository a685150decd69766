#include "operators.h"

#include <atomic>

#include "kernel.h"
#include "kernel_loader.h"
#include "libraries.h"
#include "plan_operation.h"
#include "runtime/device_reset.h"
#include "vendor.h"

struct InfiniPlan {
    std::atomic<uint32_t> holders{1};
    infini::cuda::Device *device = nullptr;
    std::unique_ptr<infini::cuda::Plan> plan;
};

namespace infini::cuda {
namespace {

constexpr uintptr_t kAlignment = 256;  // of workspaces

std::unordered_map<std::string, Planner> &planners() {
    static std::unordered_map<std::string, Planner> map;
    return map;
}

int plan(int device, const InfiniOperation *c, InfiniPlan **result, size_t *workspace_bytes) try {
    if (lost_operators(device)) {
        refuse_operators(device);
        return INFINI_STATUS_INTERNAL_ERROR;
    }
    note_operators(device);
    use_device(device);
    OutsideCapture outside;  // it may be recorded when it is first used
    CompileTogether kernels;
    auto plan = plan_operation(Operation(*c), Device::get(device));
    kernels.finish();
    if (!plan) {
        fail(infinirtErrorNotSupported, "%s devices have no kernel for this case of %s",
             vendor.kind, c->name);
        return INFINI_STATUS_NOT_IMPLEMENTED;
    }
    *workspace_bytes = plan->workspace ? plan->workspace + kAlignment - 1 : 0;
    *result = new InfiniPlan;
    (*result)->device = &Device::get(device);
    (*result)->plan = std::move(plan);
    return INFINI_STATUS_SUCCESS;
} catch (...) {
    return explain_failed_plan(c->name, fail);
}

void hold(InfiniPlan *plan) { plan->holders.fetch_add(1, std::memory_order_relaxed); }

void drop(InfiniPlan *plan) {
    if (plan->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete plan;
}

}  // namespace

const InfiniOperators operators = {sizeof(InfiniOperators), plan, hold, drop};

infinirtError_t run_kernel(const InfiniKernel &kernel, int device, void *stream) {
    if (lost_operators(device)) [[unlikely]]
        return refuse_operators(device);
    use_device(device);
    InfiniArguments aligned = *kernel.arguments;
    const auto address = reinterpret_cast<uintptr_t>(aligned.workspace);
    aligned.workspace = reinterpret_cast<void *>((address + kAlignment - 1) & ~(kAlignment - 1));
    return kernel.plan->plan->run(Arguments{aligned}, Stream{*kernel.plan->device, stream});
}

std::unique_ptr<Plan> plan_operation(const Operation &operation, Device &device) {
    return plan_by_name(find_planner, operation, device);
}

Planner find_planner(const std::string &operation) {
    auto found = planners().find(operation);
    return found == planners().end() ? nullptr : found->second;
}

KernelEntry::KernelEntry(const char *operation, Planner planner) {
    planners()[operation] = planner;
}

}  // namespace infini::cuda
