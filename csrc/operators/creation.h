// The arguments of one create call.
#pragma once

#include <vector>

#include "core.h"

namespace infini::op {

class Creation {
public:
    // `list_counts`: the lengths of the attributes' lists; null if only the attributes give them,
    // as in C, where every pointer is checked before it is used.
    Creation(const OperatorInfo &info, const InfiniValue *attributes, const size_t *list_counts)
        : info_(info), given_(attributes), list_counts_(list_counts) {}

    void take(const void *const *descriptors);
    void take(const InfiniTensor *tensors, const size_t *counts);
    InfiniopDescriptor *finish(const InfiniTarget &target);

private:
    friend class Checker;
    const TensorInfo &next_tensor();
    void add(const InfiniopTensorDescriptor *tensor, const TensorInfo &declared);
    const InfiniopTensorDescriptor *look_up(const void *descriptor, const TensorInfo &declared);
    size_t array_size(const TensorInfo &declared) const;
    void take_array(const void *list, const TensorInfo &declared);

    InfiniAttribute attribute(size_t index);
    InfiniAttribute text(const char *text, const char *name);
    template <class T>
    InfiniAttribute list(size_t index);
    bool is_readable(const void *pointer, size_t bytes) const {
        return list_counts_ || infiniIsHostMemory(pointer, bytes, false);
    }
    int64_t *keep_list(size_t count) { return lists_.emplace_back(count + 1).data(); }

    const OperatorInfo &info_;
    const InfiniValue *const given_;
    const size_t *const list_counts_;
    std::vector<const InfiniopTensorDescriptor *> tensors_;  // null: absent
    std::vector<InfiniopTensorDescriptor> made_;             // what they point to, of bare layouts
    std::vector<int> first_;                                 // of each declared tensor
    std::vector<InfiniAttribute> attributes_;
    std::vector<int64_t> kept_;                // sizes that runs are checked against
    std::vector<std::vector<int64_t>> lists_;  // what the attributes' lists point to
};

}  // namespace infini::op
