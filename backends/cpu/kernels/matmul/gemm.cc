// The operator gemm: c = alpha * a @ b + beta * c, of matrices or of batches of them.
#include "../kernel.h"
#include "operands.h"

namespace infini::cpu {

namespace {

std::unique_ptr<Plan> plan_gemm(const Operation &operation) {
    const Tensor c = operation.tensor(0), a = operation.tensor(1), b = operation.tensor(2);
    Matmul product;
    product.a = matrix(a), product.b = matrix(b), product.c = output(c);
    product.batch = c.ndim == 3 ? c.size(0) : 1;
    product.m = c.size(-2), product.n = c.size(-1), product.k = a.size(-1);
    return make_plan(
        [product](const Arguments &arguments) {
            Matmul p = product;
            p.c.data = arguments.pointer<void>(0);
            p.a.data = arguments.pointer<void>(1);
            p.b.data = arguments.pointer<void>(2);
            p.alpha = arguments.number(0), p.beta = arguments.number(1);
            matmul(p, arguments.workspace());
        },
        matmul_workspace(product));
}

INFINI_KERNEL("gemm", plan_gemm);

}  // namespace

}  // namespace infini::cpu
