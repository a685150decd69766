// linear_mxfp4: out = alpha * input @ w^T + bias.
#include "../matmul/packed.h"

namespace infini::cuda {
namespace {

std::unique_ptr<Plan> plan_linear_mxfp4(const Operation &operation, Device &device) {
    const Tensor out = operation.tensor(0), x = operation.tensor(1);
    if (out.numel() == 0) return make_empty_plan();
    ProductShape shape;
    shape.n = out.size(-1), shape.k = x.size(-1), shape.m = out.numel() / shape.n;
    shape.a = {x.dtype, shape.k, 1, 0}, shape.c = {out.dtype, shape.n, 1, 0};
    const bool bias = bool(operation.tensor(4));
    const double alpha = operation.number(0);
    Packing packing;
    packing.mxfp4 = true;
    auto product = make_packed_product(shape, packing, device);
    return make_plan(
        [=](const Arguments &a, const Stream &stream) {
            ProductData data{a.pointer<void>(1), nullptr, a.pointer<void>(0), alpha};
            if (bias) data.bias = a.pointer<void>(4);
            return product->run(data, {a.pointer<void>(2), a.pointer<void>(3)}, stream,
                                a.workspace());
        },
        product->workspace);
}

INFINI_CUDA_KERNEL("linear_mxfp4", plan_linear_mxfp4);

}  // namespace
}  // namespace infini::cuda
