// Running an operator by its descriptor.
#include "../runtime/handles.h"
#include "core.h"

namespace infini::op {

InfiniopDescriptor &Running::find(const OperatorInfo &info, const void *handle) {
    if (!handle) [[unlikely]]
        fail(INFINI_STATUS_NULL_POINTER, "desc is null: expected a descriptor");
    InfiniopDescriptor *found = find_descriptor(handle);
    if (!found) [[unlikely]]
        fail(INFINI_STATUS_BAD_PARAM, "desc is no descriptor, or was destroyed");
    if (found->info != &info) [[unlikely]]
        fail(INFINI_STATUS_BAD_PARAM, "desc describes %s: expected a descriptor of %s",
             found->info->c_name, info.c_name);
    return *found;
}

void Running::differs(int attribute, double value) const {
    fail(INFINI_STATUS_BAD_PARAM, "%s is %g: expected %g, as the descriptor was created with",
         descriptor_.info->attributes[attribute], value, descriptor_.attributes[attribute].number);
}

void Running::not_so(const char *condition, std::initializer_list<Named> values) const {
    std::string text;
    for (const Named &value : values) {
        char number[64];
        snprintf(number, sizeof number, "%s = %g", value.name, value.value);
        text += (text.empty() ? "" : ", ");
        text += number;
    }
    fail(INFINI_STATUS_BAD_PARAM, "expected %s, but %s", condition, text.c_str());
}

void Running::list_differs(int attribute) const {
    fail(INFINI_STATUS_BAD_PARAM, "%s is not the list that the descriptor was created with",
         descriptor_.info->attributes[attribute]);
}

void Running::counts(int tensor, int64_t value, const char *name) const {
    int64_t expected = descriptor_.counts[descriptor_.first[tensor]];
    if (value != expected)
        fail(INFINI_STATUS_BAD_PARAM, "%s is %lld: expected %lld, the number of elements of %s",
             name, static_cast<long long>(value), static_cast<long long>(expected),
             descriptor_.info->tensors[tensor].name);
}

void Running::host(const void *pointer, size_t bytes, const char *name) const {
    if (!pointer) fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected a valid pointer", name);
    if (bytes > 0 && !infiniIsHostMemory(pointer, bytes, false))
        fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be read", name);
}

// Every tensor with elements has data. The data of absent tensors is ignored.
void Running::check_pointers(void **pointers, size_t count) const {
    size_t at = 0;
    for (int i = 0; i < run_.pointer_count; ++i) {
        const PointerInfo &info = run_.pointers[i];
        if (info.tensor < 0) {
            if (at >= count) return;
            if (!pointers[at] && !info.optional) [[unlikely]]
                fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected a valid pointer", info.name);
            if (info.host && pointers[at] && !infiniIsHostMemory(pointers[at], 8, true))
                fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be written",
                     info.name);
            ++at;
            continue;
        }
        size_t begin = size_t(descriptor_.first[info.tensor]);
        size_t end = size_t(info.tensor) + 1 < descriptor_.first.size()
                         ? size_t(descriptor_.first[info.tensor + 1])
                         : descriptor_.needed.size();
        for (size_t tensor = begin; tensor < end && at < count; ++tensor, ++at) {
            uint8_t needed = descriptor_.needed[tensor];
            if (needed == InfiniopDescriptor::kAbsent)
                pointers[at] = nullptr;
            else if (needed == InfiniopDescriptor::kNeeded && !pointers[at]) [[unlikely]]
                fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected the tensor's data",
                     info.name);
        }
    }
}

infiniStatus_t Running::launch(void *workspace, size_t workspace_size, void **pointers,
                               size_t pointer_count, const InfiniScalar *scalars,
                               size_t scalar_count, void *stream) const {
    const Planned &planned = *descriptor_.planned;
    if (workspace_size < planned.workspace) [[unlikely]]
        fail(INFINI_STATUS_INSUFFICIENT_WORKSPACE, "workspace_size is %zu: expected at least %zu",
             workspace_size, planned.workspace);
    if (!workspace && planned.workspace > 0) [[unlikely]]
        fail(INFINI_STATUS_NULL_POINTER, "workspace is null: expected %zu bytes",
             planned.workspace);
    check_pointers(pointers, pointer_count);
    const InfiniArguments arguments{pointers, scalars, pointer_count, scalar_count, workspace};
    const InfiniTarget &target = descriptor_.target;
    auto launch_now = [&] { return op::launch(run_.function, target, planned, arguments, stream); };
    if (!descriptor_.info->host_result) [[likely]]
        return launch_now();
    // Not in a capture: the first wait fails there.
    if (infiniStatus_t status = infiniWaitForStream(run_.function, &target, stream)) return status;
    if (infiniStatus_t status = launch_now()) return status;
    if (infiniStatus_t status = infiniWaitForStream(run_.function, &target, stream)) return status;
    // A kernel returns a count of SIZE_MAX when it cannot allocate its results.
    for (size_t at = 0, i = 0; i < size_t(run_.pointer_count); ++i, ++at)
        if (run_.pointers[i].host && *static_cast<const size_t *>(pointers[at]) == SIZE_MAX) {
            *static_cast<size_t *>(pointers[at]) = 0;
            fail(INFINI_STATUS_INTERNAL_ERROR, "no memory for the results");
        }
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t workspace_size(const OperatorInfo &info, const void *handle, size_t *size) {
    Running found(info, info.runs[0], handle);
    if (!size) fail(INFINI_STATUS_NULL_POINTER, "size is null: expected a valid pointer");
    if (!infiniIsHostMemory(size, sizeof *size, true))
        fail(INFINI_STATUS_BAD_PARAM, "size points to no memory that can be written");
    *size = found.descriptor().planned->workspace;
    return INFINI_STATUS_SUCCESS;
}

infiniStatus_t destroy(const OperatorInfo &info, const void *handle) {
    Running found(info, info.runs[0], handle);
    auto *descriptor = const_cast<InfiniopDescriptor *>(&found.descriptor());
    if (!rt::HandleTable<InfiniopDescriptor>::get().destroy_once(descriptor))
        fail(INFINI_STATUS_BAD_PARAM, "desc was destroyed by another thread");
    return INFINI_STATUS_SUCCESS;
}

}  // namespace infini::op
