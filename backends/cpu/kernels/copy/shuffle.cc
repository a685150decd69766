// flipud and pixel_shuffle: strided copies from another view of the input.
#include "copy/strided.h"
#include "kernel.h"

namespace infini::cpu {
namespace {

std::unique_ptr<Plan> plan_flipud(const Operation &operation) {
    const Tensor output = operation.tensor(0), input = operation.tensor(1);
    const int64_t element = int64_t(infiniSizeOf(infiniDtype_t(output.dtype)));
    Shape from(input);
    from.stride[0] = -from.stride[0];
    const int64_t last = (input.size(0) - 1) * input.stride(0) * element;
    const StridedCopy copy(size_t(element), output.ndim, output.shape, output.strides, from.stride);
    return make_plan([=](const Arguments &a) {
        if (last >= 0) copy.run(a.pointer<void>(0), a.pointer<char>(1) + last);
    });
}

std::unique_ptr<Plan> plan_pixel_shuffle(const Operation &operation) {
    const Tensor y = operation.tensor(0), x = operation.tensor(1);
    const int64_t r = operation.integer(0);
    // y [N, C, H, i, W, j] = x [N, C, i, j, H, W]
    const int64_t sizes[] = {y.size(0), y.size(1), x.size(2), r, x.size(3), r};
    const int64_t to[] = {y.stride(0), y.stride(1),     y.stride(2) * r,
                          y.stride(2), y.stride(3) * r, y.stride(3)};
    const int64_t from[] = {x.stride(0),     x.stride(1) * r * r, x.stride(2),
                            x.stride(1) * r, x.stride(3),         x.stride(1)};
    const StridedCopy copy(infiniSizeOf(infiniDtype_t(y.dtype)), 6, sizes, to, from);
    return make_plan([=](const Arguments &a) { copy.run(a.pointer<void>(0), a.pointer<void>(1)); });
}

INFINI_KERNEL("flipud", plan_flipud);
INFINI_KERNEL("pixel_shuffle", plan_pixel_shuffle);

}  // namespace
}  // namespace infini::cpu
