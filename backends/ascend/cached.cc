#include "backends/ascend/cached.h"

#include <algorithm>

#include "backends/ascend/function.h"
#include "backends/vendor_runtime/cache_plan.h"

namespace infini::vendor_runtime::ascend {
namespace {

Call copy_call(const TensorObject &to, const TensorObject &from) {
    Call call;
    call.pointer(to);
    call.pointer(from);
    return call;
}

std::unique_ptr<LibraryPlan> plan_write(int device, const Operation &operation) {
    auto function = std::make_shared<Function>("aclnnInplaceCopy");
    auto own = std::make_shared<OwnWorkspace>(device);
    uint64_t most = 0;
    for (const auto &[to, from] : largest_copies(operation)) {
        if (to.size[0] * to.size[1] * to.size[2] == 0) continue;
        uint64_t bytes = 0;
        if (int code = function->bytes(
                copy_call(TensorObject(to, nullptr), TensorObject(from, nullptr)), &bytes))
            throw Refusal{INFINI_STATUS_INTERNAL_ERROR,
                          std::string(operation.name()) +
                              ": aclnnInplaceCopyGetWorkspaceSize returned " +
                              std::to_string(code)};
        most = std::max(most, bytes);
    }
    return plan_cache_write(
        device, operation,
        [=](void *stream, const Shape &to, void *to_data, const Shape &from, const void *from_data,
            void *workspace, const char **call) {
            const TensorObject target(to, to_data), source(from, const_cast<void *>(from_data));
            return function->run(copy_call(target, source), stream, workspace, size_t(most), *own,
                                 call);
        },
        size_t(most));
}

}  // namespace

bool is_cached(const Operation &operation) {
    const std::string name = operation.name();
    if (is_cache_write(operation)) return true;
    if (name == "flash_attention") {
        // The remaining cases are rows of the table.
        const bool causal = operation.integer(1) != 0;
        const int64_t keys = operation.tensor(2).size(2), queries = operation.tensor(1).size(2);
        return operation.tensor(4) || keys == 0 || (causal && keys < queries);
    }
    return name.starts_with("paged_attention");
}

std::unique_ptr<LibraryPlan> plan_cached(int device, const Operation &operation) {
    if (is_cache_write(operation)) return plan_write(device, operation);
    return std::string(operation.name()) == "flash_attention"
               ? plan_attention_with_lengths(device, operation)
               : plan_paged_attention(device, operation);
}

}  // namespace infini::vendor_runtime::ascend
