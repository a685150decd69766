// rearrange: copies a tensor to another layout.
#include "copy/strided.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_rearrange(const Operation &operation) {
    const Tensor to = operation.tensor(0), from = operation.tensor(1);
    const StridedCopy copy(size_t(infiniSizeOf(infiniDtype_t(to.dtype))), to.ndim, to.shape,
                           to.strides, from.strides);
    return make_plan([copy](const Arguments &a) {
        if (a.pointer<void>(0) != a.pointer<void>(1))
            copy.run(a.pointer<void>(0), a.pointer<void>(1));
    });
}

INFINI_KERNEL("rearrange", plan_rearrange);

}  // namespace
}  // namespace infini::cpu
