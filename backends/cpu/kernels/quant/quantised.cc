// Operators whose weights are quantised: int8_gemm and linear_mxfp4.
#include "../matmul/operands.h"
#include "../moe/moe_mxfp4.h"

namespace infini::cpu {

namespace {

// out = x_scale[m] * w_scale[n] * (x @ w) + bias, with exact sums.
std::unique_ptr<Plan> plan_int8_gemm(const Operation &operation) {
    const Tensor out = operation.tensor(0), x = operation.tensor(2), w = operation.tensor(4);
    Matmul product;
    product.a = matrix(x), product.b = matrix(w), product.c = output(out);
    product.m = out.size(0), product.n = out.size(1), product.k = x.size(1);
    product.invariant = operation.batch_invariant();
    const bool bias = bool(operation.tensor(1));
    const Epilogue any;
    product.epilogue = &any;  // only its presence matters here
    const size_t workspace = matmul_workspace(product);
    product.epilogue = nullptr;
    return make_plan(
        [=](const Arguments &arguments) {
            Epilogue epilogue;
            if (bias) epilogue.bias = arguments.pointer<void>(1);
            epilogue.bias_dtype = product.c.dtype;
            epilogue.row_scale = arguments.pointer<float>(3);
            epilogue.col_scale = arguments.pointer<float>(5);
            Matmul p = product;
            p.c.data = arguments.pointer<void>(0);
            p.a.data = arguments.pointer<void>(2);
            p.b.data = arguments.pointer<void>(4);
            p.epilogue = &epilogue;
            matmul(p, arguments.workspace());
        },
        workspace);
}

// out = alpha * input @ w^T + bias.
std::unique_ptr<Plan> plan_linear_mxfp4(const Operation &operation) {
    const Tensor out = operation.tensor(0), x = operation.tensor(1);
    Matmul product;
    product.n = out.size(-1), product.k = x.size(-1);
    product.m = product.n == 0 ? 0 : out.numel() / product.n;
    product.a = {nullptr, x.dtype, product.k, 1, 0};
    product.c = {nullptr, out.dtype, product.n, 1, 0};
    product.alpha = operation.number(0);
    product.invariant = operation.batch_invariant();
    const bool bias = bool(operation.tensor(4));
    const Epilogue any;
    const Mxfp4Weights unknown(nullptr, nullptr, product.k);
    Matmul sample = product;
    sample.epilogue = bias ? &any : nullptr, sample.weights = &unknown;
    return make_plan(
        [=](const Arguments &arguments) {
            const Mxfp4Weights weights(arguments.pointer<void>(2), arguments.pointer<void>(3),
                                       product.k);
            Epilogue epilogue;
            Matmul p = product;
            if (bias) {
                epilogue.bias = arguments.pointer<void>(4);
                epilogue.bias_dtype = p.c.dtype;
                p.epilogue = &epilogue;
            }
            p.c.data = arguments.pointer<void>(0);
            p.a.data = arguments.pointer<void>(1);
            p.weights = &weights;
            matmul(p, arguments.workspace());
        },
        matmul_workspace(sample));
}

INFINI_KERNEL("int8_gemm", plan_int8_gemm);
INFINI_KERNEL("linear_mxfp4", plan_linear_mxfp4);

}  // namespace

}  // namespace infini::cpu
