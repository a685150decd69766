// Convolutions whose windows have one element: a product for each image. y holds the biases first;
// the product adds its sums to them before it rounds.
#include "convolution.h"
#include "device/matmul/rows_params.h"
#include "product_parts.h"

namespace infini::cuda {

std::unique_ptr<Plan> plan_pointwise(const ConvolutionShape &s, Device &device) {
    const int64_t rows = s.images * s.features, columns = s.in_size();
    bool one = s.groups == 1 && s.tap_count() == 1 && rows <= INT32_MAX;
    for (int d = 0; d < 3; ++d) one = one && s.pad[d] == 0 && s.step[d] == 1;
    if (!one) return nullptr;
    ProductShape shape;
    shape.batch = s.images, shape.m = s.features, shape.n = columns, shape.k = s.channels;
    shape.a = {s.dtype, s.channels, 1, 0};
    shape.b = {s.dtype, columns, 1, s.channels * columns};
    shape.c = {s.dtype, columns, 1, s.features * columns};
    const auto product = make_library_product(shape, device);
    if (!product) return nullptr;
    const bool bias = s.bias;
    Source source("matmul/bias_rows.cuh");
    const auto fill = bias ? device.compile(source.type("T", s.dtype)) : nullptr;
    const bool whole = columns * int64_t(dtype_bytes(s.dtype)) % 16 == 0;
    const int32_t features = int32_t(s.features);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) -> Error {
            void *y = a.pointer<void>(0);
            if (bias) {
                const BiasRowsParams params{y, a.pointer<void>(3), columns, features,
                                            whole && is_aligned(y)};
                if (Error error = fill->launch(stream, rows, 128, params)) return error;
            }
            const ProductData data{a.pointer<void>(2), a.pointer<void>(1), y, 1, bias ? 1.0 : 0.0};
            return product->run(data, stream, a.workspace());
        },
        product->workspace);
}

}  // namespace infini::cuda
