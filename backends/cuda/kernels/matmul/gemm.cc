// The operator gemm: c = alpha * a @ b + beta * c, of matrices or of batches of them.
#include "product.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_gemm(const Operation &operation, Device &device) {
    const Tensor c = operation.tensor(0), a = operation.tensor(1), b = operation.tensor(2);
    ProductShape shape;
    shape.a = matrix(a), shape.b = matrix(b), shape.c = matrix(c);
    shape.batch = c.ndim == 3 ? c.size(0) : 1;
    shape.m = c.size(-2), shape.n = c.size(-1), shape.k = a.size(-1);
    if (c.numel() == 0) return make_empty_plan();
    auto product = make_product(shape, device);
    const size_t workspace = product->workspace;
    return make_plan(
        [product = std::move(product)](const Arguments &arguments, const Stream &stream) {
            const ProductData data{arguments.pointer<void>(1), arguments.pointer<void>(2),
                                   arguments.pointer<void>(0), arguments.number(0),
                                   arguments.number(1)};
            return product->run(data, stream, arguments.workspace());
        },
        workspace);
}

INFINI_CUDA_KERNEL("gemm", plan_gemm);

}  // namespace
}  // namespace infini::cuda
