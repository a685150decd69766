// An operator, checked and planned for tensors of given layouts on one device.
#pragma once

#include <memory>

#include "operator_services.h"
#include "rows.h"

namespace infinicore::detail {

class INFINI_EXPORT Description {
public:
    Description() = default;
    Description(const Description &) = delete;
    ~Description() {
        if (known_.descriptor) infiniDropDescriptor(known_.descriptor);
    }

    // See infiniDescribe. If memory runs out, frees the core's caches and tries again.
    infiniStatus_t make(const Row &row, const InfiniTarget &target, const InfiniTensor *tensors,
                        const size_t *tensor_counts, const Value *attributes,
                        const size_t *list_counts);

    const InfiniDescribed *operator->() const { return &known_; }

private:
    InfiniDescribed known_{};
};

// Memory for work in the stream, from the allocator of the target's device. Throws.
INFINI_EXPORT std::shared_ptr<void> allocate_workspace(const InfiniTarget &target, size_t bytes,
                                                       void *stream);

}  // namespace infinicore::detail
