// int8_gemm: out = x_scale[m] * w_scale[n] * (x @ w) + bias, with exact sums.
#include "../matmul/product_parts.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_int8_gemm(const Operation &operation, Device &device) {
    const Tensor out = operation.tensor(0), x = operation.tensor(2), w = operation.tensor(4);
    if (out.numel() == 0) return make_empty_plan();
    ProductShape shape;
    shape.a = matrix(x), shape.b = matrix(w), shape.c = matrix(out);
    shape.m = out.size(0), shape.n = out.size(1), shape.k = x.size(1);
    shape.scaled = shape.biased = true, shape.invariant = operation.batch_invariant();
    const bool bias = bool(operation.tensor(1));
    auto data_of = [=](const Arguments &a) {
        ProductData data{a.pointer<void>(2), a.pointer<void>(4), a.pointer<void>(0)};
        data.row_scale = a.pointer<float>(3), data.column_scale = a.pointer<float>(5);
        if (bias) data.bias = a.pointer<void>(1);
        return data;
    };
    // Large products: sums from the library, then the scales.
    ProductShape sums = shape;
    sums.scaled = sums.biased = false;
    sums.c = {INFINI_DTYPE_I32, shape.n, 1, 0};
    std::shared_ptr<const Product> library;
    if (shape.m >= 256 && shape.n >= 256 && !shape.invariant)
        library = make_library_product(sums, device);
    if (library) {
        const Join join(shape, 1, INFINI_DTYPE_I32, device);
        const size_t bytes = padded(size_t(shape.m * shape.n) * 4);
        return make_plan(
            [=](const Arguments &a, const Stream &stream) {
                ProductData data = data_of(a), sums{data.a, data.b, a.workspace()};
                Error error = library->run(sums, stream, a.workspace() + bytes);
                return error ? error : join.run(data, a.workspace(), stream);
            },
            bytes + library->workspace);
    }
    auto product = make_product(shape, device);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            return product->run(data_of(a), stream, a.workspace());
        },
        product->workspace);
}

INFINI_CUDA_KERNEL("int8_gemm", plan_int8_gemm);

}  // namespace
}  // namespace infini::cuda
