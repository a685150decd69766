// The operator gemm: c = alpha * a @ b + beta * c, for matrices or batches of them, with an
// optional epilogue; and integer_matmul: c = a @ b^T.
#include "../epilogue.h"
#include "integers.h"
#include "operands.h"

namespace infini::cpu {

namespace {

Matmul product_of(const Operation &operation) {
    const Tensor c = operation.tensor(0), a = operation.tensor(1), b = operation.tensor(2);
    Matmul product;
    product.a = matrix(a), product.b = matrix(b), product.c = output(c);
    product.batch = c.ndim == 3 ? c.size(0) : 1;
    product.m = c.size(-2), product.n = c.size(-1), product.k = a.size(-1);
    product.invariant = operation.batch_invariant();
    return product;
}

void place(Matmul &product, const Arguments &arguments) {
    product.c.data = arguments.pointer<void>(0);
    product.a.data = arguments.pointer<void>(1);
    product.b.data = arguments.pointer<void>(2);
    product.alpha = arguments.number(0), product.beta = arguments.number(1);
}

// With wraparound, unsigned products have the same bits as signed ones.
int signed_dtype(int dtype) {
    switch (dtype) {
        case INFINI_DTYPE_U8:
            return INFINI_DTYPE_I8;
        case INFINI_DTYPE_U16:
            return INFINI_DTYPE_I16;
        case INFINI_DTYPE_U32:
            return INFINI_DTYPE_I32;
        case INFINI_DTYPE_U64:
            return INFINI_DTYPE_I64;
        default:
            return dtype;
    }
}

std::unique_ptr<Plan> plan_integers(const Operation &operation) {
    Matmul product = product_of(operation);
    std::swap(product.b.row_stride, product.b.col_stride);
    product.a.dtype = product.b.dtype = product.c.dtype = signed_dtype(product.c.dtype);
    return make_plan(
        [product](const Arguments &arguments) {
            Matmul p = product;
            p.c.data = arguments.pointer<void>(0);
            p.a.data = arguments.pointer<void>(1);
            p.b.data = arguments.pointer<void>(2);
            matmul(p, arguments.workspace());
        },
        matmul_workspace(product));
}

std::unique_ptr<Plan> plan_gemm(const Operation &operation) {
    if (operation.is("integer_matmul")) return plan_integers(operation);
    const Matmul product = product_of(operation);
    return make_plan(
        [product](const Arguments &arguments) {
            Matmul p = product;
            place(p, arguments);
            matmul(p, arguments.workspace());
        },
        matmul_workspace(product));
}

// Plans a product whose epilogue is a program.
std::unique_ptr<Plan> plan_with_epilogue(const Operation &operation) {
    Matmul product = product_of(operation);
    // Few columns are better computed as rows, but the program could not process them in runs.
    const bool few_columns = product.n <= kFewRows && (product.m > product.n || product.invariant);
    if (product.c.dtype == INFINI_DTYPE_F64 || few_columns) return nullptr;
    std::shared_ptr<const EpiloguePlan> epilogue = plan_epilogue(operation);
    if (!epilogue) return nullptr;
    // A batch that is equivalent to more rows.
    if (product.b.batch_stride == 0 && product.a.batch_stride == product.m * product.a.row_stride)
        product.m *= product.batch, product.batch = 1;
    const Epilogue some{nullptr, nullptr, nullptr, 0, nullptr, [](auto...) {}, nullptr};
    Matmul planned = product;
    planned.epilogue = &some;
    return make_plan(
        [product, epilogue](const Arguments &arguments) {
            struct Context {
                Matmul product;
                char *workspace;
            } context{product, arguments.workspace()};
            place(context.product, arguments);
            context.product.beta = 0;
            epilogue->launch(
                arguments,
                [](const void *context, const EpiloguePlan::Launch &launch) {
                    auto [product, workspace] = *static_cast<const Context *>(context);
                    Epilogue epilogue;
                    epilogue.store = [](const void *launch, const float *values, int64_t member,
                                        int64_t row, int64_t column, int64_t n) {
                        const auto &compute = *static_cast<const EpiloguePlan::Launch *>(launch);
                        compute(values, member, row, column, n);
                    };
                    epilogue.context = &launch;
                    product.epilogue = &epilogue;
                    matmul(product, workspace);
                },
                &context);
        },
        matmul_workspace(planned));
}

INFINI_KERNEL("gemm", plan_gemm);
INFINI_KERNEL("gemm+", plan_with_epilogue);

}  // namespace

}  // namespace infini::cpu
