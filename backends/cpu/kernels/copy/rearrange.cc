// rearrange and broadcast_to: the same elements in another layout.
#include "copy/strided.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_copy(const Tensor &to, const Tensor &from) {
    // The source takes the shape of the destination: sizes of 1, and missing ones, are repeated.
    int64_t strides[Shape::kMost];
    for (int i = 0; i < to.ndim; ++i) {
        const int at = i - (to.ndim - from.ndim);
        strides[i] = at < 0 || (from.shape[at] == 1 && to.shape[i] != 1) ? 0 : from.strides[at];
    }
    const StridedCopy copy(size_t(infiniSizeOf(infiniDtype_t(to.dtype))), to.ndim, to.shape,
                           to.strides, strides);
    return make_plan([copy](const Arguments &a) {
        if (a.pointer<void>(0) != a.pointer<void>(1))
            copy.run(a.pointer<void>(0), a.pointer<void>(1));
    });
}

std::unique_ptr<Plan> plan_rearrange(const Operation &operation) {
    return plan_copy(operation.tensor(0), operation.tensor(1));
}

INFINI_KERNEL("rearrange", plan_rearrange);
INFINI_KERNEL("broadcast_to", plan_rearrange);

}  // namespace
}  // namespace infini::cpu
