// Describing an operator: arguments are collected, checked, and planned.
#include <algorithm>

#include "../runtime/handles.h"
#include "check.h"

namespace infini::op {
namespace {

constexpr size_t kMostDimensions = 8;
constexpr int64_t kMostEntries = 1 << 20;  // of a list

}  // namespace

Creation::Creation(const OperatorInfo &info, const void *handle, void *result)
    : info_(info), result_(static_cast<void **>(result)) {
    if (!handle) fail(INFINI_STATUS_NULL_POINTER, "handle is null: expected a handle");
    handle_ = find_handle(handle);
    if (!handle_) fail(INFINI_STATUS_BAD_PARAM, "handle is no handle, or was destroyed");
    if (!result)
        fail(INFINI_STATUS_NULL_POINTER, "desc_ptr is null: expected a place for the descriptor");
    if (!infiniIsHostMemory(result, sizeof(void *), true))
        fail(INFINI_STATUS_BAD_PARAM, "desc_ptr points to no memory that can be written");
    tensors_.reserve(size_t(info.tensor_count));
    attributes_.reserve(size_t(info.attribute_count));
}

void Creation::tensor(const void *descriptor) {
    const TensorInfo &declared = next_tensor();
    if (!descriptor && !declared.optional)
        fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected a tensor descriptor", declared.name);
    tensors_.push_back(descriptor ? look_up(descriptor, declared) : nullptr);
}

void Creation::tensors(const void *list, size_t count) {
    const TensorInfo &declared = next_tensor();
    if (count > size_t(kMostEntries) || count == 0)
        fail(INFINI_STATUS_BAD_PARAM, "%s has %zu entries: expected 1 to %lld", declared.name,
             count, static_cast<long long>(kMostEntries));
    if (!list) fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected an array", declared.name);
    if (!infiniIsHostMemory(list, count * sizeof(void *), false))
        fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be read", declared.name);
    auto *descriptors = static_cast<const void *const *>(list);
    for (size_t i = 0; i < count; ++i) {
        if (!descriptors[i])
            fail(INFINI_STATUS_NULL_POINTER, "%s[%zu] is null: expected a tensor descriptor",
                 declared.name, i);
        tensors_.push_back(look_up(descriptors[i], declared));
    }
}

const TensorInfo &Creation::next_tensor() {
    first_.push_back(int(tensors_.size()));
    return info_.tensors[first_.size() - 1];
}

const InfiniopTensorDescriptor *Creation::look_up(const void *descriptor,
                                                  const TensorInfo &declared) {
    const InfiniopTensorDescriptor *found = find_tensor(descriptor);
    if (!found)
        fail(INFINI_STATUS_BAD_PARAM, "%s is no tensor descriptor, or was destroyed",
             declared.name);
    if (found->shape.size() > kMostDimensions)
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has %zu dimensions: expected at most %zu",
             declared.name, found->shape.size(), kMostDimensions);
    return found;
}

void Creation::size(uint64_t value) {
    if (value > uint64_t(INT64_MAX))
        fail(INFINI_STATUS_BAD_PARAM, "%s is %llu: expected less than 2^63",
             info_.attributes[attributes_.size()], static_cast<unsigned long long>(value));
    integer(int64_t(value));
}

void Creation::text(const char *text) {
    if (!text) return attribute({});
    const char *name = info_.attributes[attributes_.size()];
    size_t length = 0;
    for (;; ++length) {
        if (length == 256) fail(INFINI_STATUS_BAD_PARAM, "%s is longer than 255 characters", name);
        if (!infiniIsHostMemory(text + length, 1, false))
            fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be read", name);
        if (!text[length]) break;
    }
    char *kept = reinterpret_cast<char *>(keep_list(length / 8 + 1));
    std::copy(text, text + length, kept);
    attribute({{.i = 0}, 0, kept, length});
}

bool Creation::look_at_list(const void *values, int64_t count, size_t bytes) {
    if (!values) return false;
    const char *name = info_.attributes[attributes_.size()];
    if (count < 0 || count > kMostEntries)
        fail(INFINI_STATUS_BAD_PARAM, "%s has %lld entries: expected 0 to %lld", name,
             static_cast<long long>(count), static_cast<long long>(kMostEntries));
    if (count > 0 && !infiniIsHostMemory(values, size_t(count) * bytes, false))
        fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be read", name);
    return true;
}

infiniStatus_t Creation::finish() {
    if (info_.unsupported) fail(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, "%s", info_.unsupported);
    Checker checker(info_, *this);
    info_.check(checker);
    const InfiniTarget &target = handle_->target;
    if (!target.operators)
        fail(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, "the %s back end has no operators",
             target.kind);

    std::vector<InfiniTensor> tensors(tensors_.size());
    InfiniopDescriptor made{};
    made.needed.reserve(tensors_.size());
    for (size_t i = 0; i < tensors_.size(); ++i) {
        const InfiniopTensorDescriptor *tensor = tensors_[i];
        if (!tensor) {
            made.needed.push_back(InfiniopDescriptor::kAbsent);
            made.counts.push_back(0);
            continue;
        }
        tensors[i] = {tensor->dtype, int(tensor->shape.size()), tensor->shape.data(),
                      tensor->strides.data()};
        int64_t count = 1;
        for (int64_t size : tensor->shape) count = times(count, size);
        made.counts.push_back(count);
        made.needed.push_back(count ? InfiniopDescriptor::kNeeded : InfiniopDescriptor::kEmpty);
    }
    InfiniOperation operation{};
    operation.name = info_.name;
    operation.tensors = tensors.data();
    operation.attributes = attributes_.data();
    operation.tensor_count = tensors.size();
    operation.attribute_count = attributes_.size();
    operation.program = find_program(operation);

    made.device_type = handle_->device;
    made.device_id = handle_->device_id;
    made.info = &info_;
    made.target = target;
    made.first = first_;
    made.kept = std::move(kept_);
    made.planned = plan(target, operation, info_.lower);
    made.program = operation.program;
    if (!info_.has_workspace && made.planned->workspace > 0)
        fail(INFINI_STATUS_INTERNAL_ERROR,
             "the back end wants a workspace of %zu bytes, but %s has no way to pass one",
             made.planned->workspace, info_.name);
    made.attributes = attributes_;
    made.lists = std::move(lists_);
    auto *descriptor = rt::HandleTable<InfiniopDescriptor>::get().make(std::move(made));
    if (!descriptor) fail(INFINI_STATUS_INTERNAL_ERROR, "too many operator descriptors");
    *result_ = descriptor;
    return INFINI_STATUS_SUCCESS;
}

}  // namespace infini::op
