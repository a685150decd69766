#include "runtime.h"
// The contract, which the following header needs, comes with the runtime.
#include "description.h"
#include "memory_error.h"
#include "out_of_memory.h"

namespace infinicore::detail {

infiniStatus_t Description::make(const Row &row, const InfiniTarget &target,
                                 const InfiniTensor *tensors, const size_t *tensor_counts,
                                 const Value *attributes, const size_t *list_counts) {
    const auto describe = [&] {
        return infiniDescribe(int(&row - kRows), &target, tensors, tensor_counts, attributes,
                              list_counts, &known_);
    };
    const infiniStatus_t status = describe();
    if (status == INFINI_STATUS_SUCCESS || !infiniMemoryRanOut()) return status;
    release_host_memory();
    return describe();
}

std::shared_ptr<void> allocate_workspace(const InfiniTarget &target, size_t bytes, void *stream) {
    DeviceRuntime &runtime =
        runtime_of(Device(Device::Type(target.device_type), Device::Index(target.index)));
    std::shared_ptr<Memory> memory =
        runtime.allocator.allocate(bytes, static_cast<infinirtStream_t>(stream));
    return {memory, memory->data()};
}

}  // namespace infinicore::detail
