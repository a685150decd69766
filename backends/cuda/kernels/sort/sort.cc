// sort: sorts lines along a dimension, and returns the indices of their elements.
#include <limits>

#include "kernels/sort/order.h"
#include "refuse.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_sort(const Operation &operation, Device &device) {
    const Tensor values = operation.tensor(0), indices = operation.tensor(1);
    const Tensor input = operation.tensor(2);
    const int dim = int(operation.integer(0));
    const Ordering ordering = {input.dtype,
                               indices.dtype,
                               operation.integer(1) != 0,
                               Lines(input, dim),
                               Lines(values, dim),
                               Lines(indices, dim),
                               0,
                               input.ndim ? input.size(dim) : 1};
    if (ordering.from.size > std::numeric_limits<int32_t>::max())
        refuse_shape("sort: lines of 2^31 elements or more");
    if (input.numel() == 0) return make_empty_plan();
    return plan_sort_lines(ordering, device);
}

INFINI_CUDA_KERNEL("sort", plan_sort);

}  // namespace
}  // namespace infini::cuda
