// mask_counts, and mask_rows, mask_take and mask_put, which use its counts.
#include "device/index/masks.cuh"

#include "kernels/dims.h"
#include "kernels/index/grouping.h"
#include "mask_case.h"

namespace infini::cuda {
namespace {

Places<1> places_of(const Tensor &tensor) {
    Dims<1> dims;
    for (int d = 0; d < tensor.ndim; ++d) dims.add(tensor.shape[d], tensor.strides[d]);
    return dims.places();
}

// Sizes and dividers of all dimensions, also of those that Dims would merge.
Places<1> sizes_of(const Tensor &tensor) {
    Places<1> sizes;
    sizes.count = 1, sizes.ndim = tensor.ndim;
    for (int d = 0; d < tensor.ndim; ++d) sizes.count *= tensor.shape[d];
    sizes.large = sizes.count >= int64_t(1) << 31;
    for (int d = 0; sizes.count > 0 && d < tensor.ndim; ++d) {
        sizes.size[d] = tensor.shape[tensor.ndim - 1 - d];
        if (!sizes.large) sizes.divider[d] = Divider(uint32_t(sizes.size[d]));
    }
    return sizes;
}

MaskParams with_mask(MaskParams params, const uint8_t *mask, void *counts) {
    params.mask = mask, params.aligned = is_aligned(mask);
    params.counts = static_cast<int64_t *>(counts);
    return params;
}

std::unique_ptr<Plan> plan_mask_counts(const Operation &operation, Device &device) {
    const Tensor mask = operation.tensor(1);
    check_mask_counts(mask, operation.tensor(0));
    MaskParams params = {};
    params.count = places_of(mask).count;
    const int64_t chunks = mask_chunks(mask);
    if (chunks == 0)
        return make_plan([](const Arguments &a, const Stream &stream) {
            return fill_bytes(stream, a.pointer<void>(0), 0, sizeof(int64_t));
        });
    const auto count = device.compile(Source("index/masks.cuh:count"));
    const RunningSum sum(device, sizeof(int64_t));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        int64_t *const counts = a.pointer<int64_t>(0);
        INFINI_CUDA_TRY(
            count->launch(stream, chunks, 256, with_mask(params, a.pointer<uint8_t>(1), counts)));
        return sum.run(stream, counts, chunks, counts + chunks);
    });
}

std::unique_ptr<Plan> plan_mask_rows(const Operation &operation, Device &device) {
    const Tensor rows = operation.tensor(0), mask = operation.tensor(1);
    check_mask_counts(mask, operation.tensor(2));
    MaskParams params = {};
    params.places = sizes_of(mask), params.count = params.places.count;
    params.limit = rows.size(0), params.fill = operation.integer(0);
    params.row_step = rows.stride(0), params.dim_step = rows.stride(1);
    if (params.limit == 0 || mask.ndim == 0) return make_empty_plan();
    const int64_t blocks = std::max<int64_t>(mask_chunks(mask), 1);
    const auto kernel = device.compile(Source("index/masks.cuh:rows").constant("kDims", mask.ndim));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        MaskParams here = with_mask(params, a.pointer<uint8_t>(1), a.pointer<void>(2));
        here.out = a.pointer<void>(0);
        return kernel->launch(stream, blocks, 256, here);
    });
}

std::unique_ptr<Plan> plan_elements(const Operation &operation, Device &device) {
    const bool takes = operation.is("mask_take");
    const Tensor x = operation.tensor(1), mask = operation.tensor(2);
    check_mask_counts(mask, operation.tensor(takes ? 3 : 4));
    MaskParams params = {};
    params.places = places_of(x), params.count = params.places.count;
    params.limit = operation.tensor(takes ? 0 : 3).size(0);
    const int64_t blocks = takes ? std::max<int64_t>(mask_chunks(mask), 1) : mask_chunks(mask);
    if (takes && params.limit == 0) return make_empty_plan();
    Source source(takes ? "index/masks.cuh:take" : "index/masks.cuh:put");
    const auto kernel = device.compile(source.type("E", bytes_type(dtype_bytes(x.dtype))));
    return make_plan([=](const Arguments &a, const Stream &stream) {
        MaskParams here = with_mask(params, a.pointer<uint8_t>(2), a.pointer<void>(takes ? 3 : 4));
        here.out = a.pointer<void>(0), here.data = a.pointer<void>(1);
        if (!takes) here.source = a.pointer<void>(3);
        return kernel->launch(stream, blocks, 256, here);
    });
}

std::unique_ptr<Plan> plan_masks(const Operation &operation, Device &device) {
    if (operation.is("mask_counts")) return plan_mask_counts(operation, device);
    if (operation.is("mask_rows")) return plan_mask_rows(operation, device);
    return plan_elements(operation, device);
}

INFINI_CUDA_KERNEL("masks", plan_masks);

}  // namespace
}  // namespace infini::cuda
