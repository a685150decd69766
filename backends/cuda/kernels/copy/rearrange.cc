// Strided copies: rearrange, broadcast_to, and those from another view of the input (flip, flipud,
// pixel_shuffle).
#include <string>

#include "kernels/copy/strided.h"

namespace infini::cuda {
namespace {

// From a place in the input, in bytes.
std::unique_ptr<Plan> plan_copy(const StridedCopy &copy, int64_t from = 0) {
    return make_plan([=](const Arguments &a, const Stream &stream) {
        return copy.run(stream, a.pointer<void>(0), a.pointer<char>(1) + from);
    });
}

std::unique_ptr<Plan> plan_rearrange(const Operation &operation, Device &device) {
    const Tensor to = operation.tensor(0), from = operation.tensor(1);
    // The source takes the shape of the destination: sizes of 1, and missing ones, are repeated.
    int64_t strides[Shape::kMost];
    for (int i = 0; i < to.ndim; ++i) {
        const int at = i - (to.ndim - from.ndim);
        strides[i] = at < 0 || (from.shape[at] == 1 && to.shape[i] != 1) ? 0 : from.strides[at];
    }
    const StridedCopy copy(device, dtype_bytes(to.dtype), to.ndim, to.shape, to.strides, strides);
    return make_plan([copy](const Arguments &a, const Stream &stream) {
        if (a.pointer<void>(0) == a.pointer<void>(1)) return infinirtSuccess;
        return copy.run(stream, a.pointer<void>(0), a.pointer<void>(1));
    });
}

// The listed dimensions of the input in reverse order.
std::unique_ptr<Plan> plan_turned(const Operation &operation, Device &device, const bool *turned) {
    const Tensor y = operation.tensor(0);
    Shape x(operation.tensor(1));
    if (y.numel() == 0) return make_empty_plan();
    int64_t from = 0;
    for (int d = 0; d < x.ndim; ++d) {
        if (!turned[d]) continue;
        from += (x.size[d] - 1) * x.stride[d];
        x.stride[d] = -x.stride[d];
    }
    const size_t element = dtype_bytes(y.dtype);
    return plan_copy(StridedCopy(device, element, y.ndim, y.shape, y.strides, x.stride),
                     from * int64_t(element));
}

std::unique_ptr<Plan> plan_flip(const Operation &operation, Device &device) {
    const int rank = operation.tensor(1).ndim;
    const int64_t *dims = operation.list(0);
    if (!dims && operation.integer(1) != 0)
        throw Refusal{INFINI_STATUS_NULL_POINTER, "flip: dim has to be given"};
    bool turned[Shape::kMost] = {};
    for (size_t i = 0; dims && i < operation.count(0); ++i) {
        const int64_t dim = dims[i] < 0 ? dims[i] + rank : dims[i];
        if (dim < 0 || dim >= rank)
            throw Refusal{INFINI_STATUS_BAD_PARAM, "flip: dim[" + std::to_string(i) + "] is " +
                                                       std::to_string(dims[i]) + " of " +
                                                       std::to_string(rank) + " dimensions"};
        if (turned[dim])
            throw Refusal{INFINI_STATUS_BAD_PARAM, "flip: a dimension is listed twice"};
        turned[dim] = true;
    }
    return plan_turned(operation, device, turned);
}

std::unique_ptr<Plan> plan_flipud(const Operation &operation, Device &device) {
    const bool turned[Shape::kMost] = {true};
    return plan_turned(operation, device, turned);
}

std::unique_ptr<Plan> plan_pixel_shuffle(const Operation &operation, Device &device) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    const int64_t r = operation.integer(0);
    // y [N, C, H, i, W, j] = x [N, C, i, j, H, W]
    const int64_t sizes[] = {y.size(0), y.size(1), x.size(2), r, x.size(3), r};
    const int64_t to[] = {y.stride(0), y.stride(1),     y.stride(2) * r,
                          y.stride(2), y.stride(3) * r, y.stride(3)};
    const int64_t from[] = {x.stride(0),     x.stride(1) * r * r, x.stride(2),
                            x.stride(1) * r, x.stride(3),         x.stride(1)};
    return plan_copy(StridedCopy(device, dtype_bytes(y.dtype), 6, sizes, to, from));
}

INFINI_CUDA_KERNEL("rearrange", plan_rearrange);
INFINI_CUDA_KERNEL("broadcast_to", plan_rearrange);
INFINI_CUDA_KERNEL("flip", plan_flip);
INFINI_CUDA_KERNEL("flipud", plan_flipud);
INFINI_CUDA_KERNEL("pixel_shuffle", plan_pixel_shuffle);

}  // namespace
}  // namespace infini::cuda
