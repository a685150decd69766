// Describing an operator: arguments are collected, checked, and planned.
#include "creation.h"

#include <algorithm>
#include <type_traits>

#include "check.h"
#include "make_handle.h"

namespace infini::op {
namespace {

constexpr size_t kMostDimensions = 8;
constexpr int64_t kMostEntries = 1 << 20;  // of a list

}  // namespace

// ---- Tensors ------------------------------------------------------------------------------------

void Creation::take(const void *const *descriptors) {
    tensors_.reserve(size_t(info_.tensor_count));
    for (int i = 0; i < info_.tensor_count; ++i) {
        const TensorInfo &declared = next_tensor();
        if (declared.array)
            take_array(descriptors[i], declared);
        else if (descriptors[i])
            add(look_up(descriptors[i], declared), declared);
        else if (declared.optional)
            tensors_.push_back(nullptr);
        else
            fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected a tensor descriptor",
                 declared.name);
    }
}

size_t Creation::array_size(const TensorInfo &declared) const {
    const auto count = size_t(given_[info_.array_count].i);
    if (count > size_t(kMostEntries) || count == 0)
        fail(INFINI_STATUS_BAD_PARAM, "%s has %zu entries: expected 1 to %lld", declared.name,
             count, static_cast<long long>(kMostEntries));
    return count;
}

void Creation::take_array(const void *list, const TensorInfo &declared) {
    const size_t count = array_size(declared);
    if (!list) fail(INFINI_STATUS_NULL_POINTER, "%s is null: expected an array", declared.name);
    if (!is_readable(list, count * sizeof(void *)))
        fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be read", declared.name);
    auto *descriptors = static_cast<const void *const *>(list);
    for (size_t i = 0; i < count; ++i) {
        if (!descriptors[i])
            fail(INFINI_STATUS_NULL_POINTER, "%s[%zu] is null: expected a tensor descriptor",
                 declared.name, i);
        add(look_up(descriptors[i], declared), declared);
    }
}

void Creation::take(const InfiniTensor *tensors, const size_t *counts) {
    size_t total = 0;
    for (int i = 0; i < info_.tensor_count; ++i) total += counts[i];
    tensors_.reserve(total);
    made_.reserve(total);
    for (int i = 0; i < info_.tensor_count; ++i) {
        const TensorInfo &declared = next_tensor();
        if (const size_t wanted = declared.array ? array_size(declared) : 1; counts[i] != wanted)
            fail(INFINI_STATUS_BAD_PARAM, "%s has %zu entries: expected %zu", declared.name,
                 counts[i], wanted);
        for (size_t k = 0; k < counts[i]; ++k) {
            const InfiniTensor &each = *tensors++;
            if (each.dtype == 0 && (declared.array || !declared.optional))
                fail(INFINI_STATUS_NULL_POINTER, "%s is absent: expected a tensor", declared.name);
            if (each.dtype == 0) {
                tensors_.push_back(nullptr);
                continue;
            }
            made_.push_back({each.dtype,
                             {each.shape, each.shape + each.ndim},
                             {each.strides, each.strides + each.ndim}});
            check_extent(made_.back());
            add(&made_.back(), declared);
        }
    }
}

const TensorInfo &Creation::next_tensor() {
    first_.push_back(int(tensors_.size()));
    return info_.tensors[first_.size() - 1];
}

void Creation::add(const InfiniopTensorDescriptor *tensor, const TensorInfo &declared) {
    if (tensor->shape.size() > kMostDimensions)
        fail(INFINI_STATUS_BAD_TENSOR_SHAPE, "%s has %zu dimensions: expected at most %zu",
             declared.name, tensor->shape.size(), kMostDimensions);
    tensors_.push_back(tensor);
}

const InfiniopTensorDescriptor *Creation::look_up(const void *descriptor,
                                                  const TensorInfo &declared) {
    const InfiniopTensorDescriptor *found = find_tensor(descriptor);
    if (!found)
        fail(INFINI_STATUS_BAD_PARAM, "%s is no tensor descriptor, or was destroyed",
             declared.name);
    return found;
}

// ---- Attributes ---------------------------------------------------------------------------------

namespace {

InfiniAttribute integer(int64_t value) { return {{.i = value}, double(value), nullptr, 0}; }
InfiniAttribute number(double value) { return {{.f = value}, value, nullptr, 0}; }

}  // namespace

InfiniAttribute Creation::attribute(size_t index) {
    const InfiniValue &value = given_[index];
    switch (info_.letters[index]) {
        case 'b':
            return integer(bool(value.i));
        case 'c':
            return integer(char(value.i));
        case 'h':
            return integer(uint8_t(value.i));
        case 'j':
            return integer(int32_t(value.i));
        case 'u':
            if (value.i < 0)
                fail(INFINI_STATUS_BAD_PARAM, "%s is %llu: expected less than 2^63",
                     info_.attributes[index], static_cast<unsigned long long>(value.i));
            return integer(value.i);
        case 'e':
            return number(float(value.f));
        case 'f':
            return number(value.f);
        case 's':
            return text(static_cast<const char *>(value.list), info_.attributes[index]);
        case 'I':
            return list<int32_t>(index);
        case 'L':
            return list<int64_t>(index);
        case 'D':
            return list<double>(index);
        default:
            return integer(value.i);
    }
}

InfiniAttribute Creation::text(const char *text, const char *name) {
    if (!text) return {};
    size_t length = 0;
    for (;; ++length) {
        if (length == 256) fail(INFINI_STATUS_BAD_PARAM, "%s is longer than 255 characters", name);
        if (!is_readable(text + length, 1))
            fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be read", name);
        if (!text[length]) break;
    }
    char *kept = reinterpret_cast<char *>(keep_list(length / 8 + 1));
    std::copy(text, text + length, kept);
    return {{.i = 0}, 0, kept, length};
}

template <class T>
InfiniAttribute Creation::list(size_t index) {
    const T *entries = static_cast<const T *>(given_[index].list);
    if (!entries) return {};
    const char *name = info_.attributes[index], *length = info_.lengths + 2 * index;
    const int64_t count =
        *length == '#' ? length[1] - '0' : given_[size_t(*length - 'A')].i / (length[1] - '0');
    // An attribute that gives a list's length must be correct; entries beyond it are ignored.
    if (list_counts_ && list_counts_[index] != size_t(count) &&
        (*length != '#' || list_counts_[index] < size_t(count)))
        fail(INFINI_STATUS_BAD_PARAM, "%s has %zu entries: expected %lld", name,
             list_counts_[index], static_cast<long long>(count));
    if (count < 0 || count > kMostEntries)
        fail(INFINI_STATUS_BAD_PARAM, "%s has %lld entries: expected 0 to %lld", name,
             static_cast<long long>(count), static_cast<long long>(kMostEntries));
    if (count > 0 && !is_readable(entries, size_t(count) * sizeof(T)))
        fail(INFINI_STATUS_BAD_PARAM, "%s points to no memory that can be read", name);
    int64_t *kept = keep_list(size_t(count));
    for (int64_t i = 0; i < count; ++i) {
        if constexpr (std::is_floating_point_v<T>)
            kept[i] = std::bit_cast<int64_t>(entries[i]);
        else
            kept[i] = int64_t(entries[i]);
    }
    return {{.i = count}, double(count), kept, size_t(count)};
}

// ---- The descriptor -----------------------------------------------------------------------------

InfiniopDescriptor *Creation::finish(const InfiniTarget &target) {
    attributes_.reserve(size_t(info_.attribute_count));
    for (int i = 0; i < info_.attribute_count; ++i) attributes_.push_back(attribute(size_t(i)));
    if (info_.unsupported) fail(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, "%s", info_.unsupported);
    Checker checker(info_, *this);
    info_.check(checker);
    if (!target.operators)
        fail(INFINI_STATUS_DEVICE_TYPE_NOT_SUPPORTED, "the %s back end has no operators",
             target.kind);

    std::vector<InfiniTensor> tensors(tensors_.size());
    InfiniopDescriptor made{};
    made.needed.reserve(tensors_.size());
    made.counts.reserve(tensors_.size());
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
    operation.modes = infiniGetModes();

    made.device_type = infiniDevice_t(target.device_type);
    made.device_id = target.index;
    made.info = &info_;
    made.target = target;
    made.first = std::move(first_);
    made.kept = std::move(kept_);
    made.planned = plan(target, operation, info_.lower);
    made.program = operation.program;
    if (!info_.has_workspace && made.planned->workspace > 0)
        fail(INFINI_STATUS_INTERNAL_ERROR,
             "the back end wants a workspace of %zu bytes, but %s has no way to pass one",
             made.planned->workspace, info_.name);
    made.attributes = std::move(attributes_);
    made.lists = std::move(lists_);
    return make_handle("operator descriptors", std::move(made));
}

infiniStatus_t create(const OperatorInfo &info, const void *handle, void *result,
                      const void *const *tensors, const InfiniValue *attributes) {
    if (!handle) fail(INFINI_STATUS_NULL_POINTER, "handle is null: expected a handle");
    const InfiniopHandle *found = find_handle(handle);
    if (!found) fail(INFINI_STATUS_BAD_PARAM, "handle is no handle, or was destroyed");
    if (!result)
        fail(INFINI_STATUS_NULL_POINTER, "desc_ptr is null: expected a place for the descriptor");
    if (!infiniIsHostMemory(result, sizeof(void *), true))
        fail(INFINI_STATUS_BAD_PARAM, "desc_ptr points to no memory that can be written");
    Creation creation(info, attributes, nullptr);
    creation.take(tensors);
    *static_cast<InfiniopDescriptor **>(result) = creation.finish(found->target);
    return INFINI_STATUS_SUCCESS;
}

}  // namespace infini::op
