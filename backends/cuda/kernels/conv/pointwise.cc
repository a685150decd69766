// 16-bit convolutions whose windows have one element, as products for all images by the library. If
// there are biases, in F32; then adds them and rounds once.
#include <algorithm>

#include "../matmul/product_parts.h"
#include "convolution.h"
#include "device/matmul/rows.cuh"

namespace infini::cuda {

std::unique_ptr<Plan> plan_pointwise(const ConvolutionShape &s, Device &device) {
    constexpr int64_t kMostBytes = int64_t(1) << 30;
    const int64_t columns = s.in_size(), rows = s.images * s.features;
    bool one = s.groups == 1 && s.tap_count() == 1 && dtype_bytes(s.dtype) == 2;
    // Without biases the convolution library is an alternative, which transposes images; products
    // do not, but read rows in vectors.
    one = one && (s.bias || (columns % 8 == 0 && s.channels % 8 == 0 && s.in_size() > 0));
    for (int d = 0; d < 3; ++d) one = one && s.pad[d] == 0 && s.step[d] == 1;
    if (!one || std::max({rows, columns, s.channels}) > INT32_MAX ||
        (s.bias && rows * columns > kMostBytes / 4))
        return nullptr;
    ProductShape shape;
    shape.batch = s.images, shape.m = s.features, shape.n = columns, shape.k = s.channels;
    shape.a = {s.dtype, s.channels, 1, 0};
    shape.b = {s.dtype, columns, 1, s.channels * columns};
    shape.c = {s.bias ? INFINI_DTYPE_F32 : s.dtype, columns, 1, s.features * columns};
    const auto product = make_library_product(shape, device);
    if (!product) return nullptr;
    if (!s.bias)
        return make_plan(
            [=](const Arguments &a, const Stream &stream) -> Error {
                const ProductData data{a.pointer<void>(2), a.pointer<void>(1), a.pointer<void>(0)};
                return product->run(data, stream, a.workspace());
            },
            product->workspace);
    const size_t sums = padded(size_t(rows * columns) * 4);
    const auto finish = device.compile(Source("matmul/rows.cuh:bias").type("T", s.dtype));
    const uint32_t features = uint32_t(s.features);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) -> Error {
            BiasRowsParams p{a.pointer<void>(0), reinterpret_cast<float *>(a.workspace()),
                             a.pointer<void>(3), int32_t(columns),
                             features,           0};
            p.vector = columns % 4 == 0 && reinterpret_cast<uintptr_t>(p.to) % 8 == 0;
            const ProductData data{a.pointer<void>(2), a.pointer<void>(1), a.workspace()};
            const Error error = product->run(data, stream, a.workspace() + sums);
            return error ? error : finish->launch(stream, rows, 256, p);
        },
        sums + product->workspace);
}

}  // namespace infini::cuda
