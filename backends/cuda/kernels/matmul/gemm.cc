// The operator gemm: c = alpha * a @ b + beta * c, for matrices or batches of them, and its
// epilogues: a bias of the columns and a residual are part of the product; other programs are
// compiled into our own kernels.
#include <infini/expression.h>

#include "../program/epilogue.h"
#include "product_parts.h"

namespace infini::cuda {
namespace {

ProductShape product_of(const Operation &operation) {
    const Tensor c = operation.tensor(0), a = operation.tensor(1), b = operation.tensor(2);
    ProductShape shape;
    shape.a = matrix(a), shape.b = matrix(b), shape.c = matrix(c);
    shape.batch = c.ndim == 3 ? c.size(0) : 1;
    shape.m = c.size(-2), shape.n = c.size(-1), shape.k = a.size(-1);
    shape.invariant = operation.batch_invariant(), shape.tf32 = operation.allows_tf32();
    return shape;
}

std::unique_ptr<Plan> plan_gemm(const Operation &operation, Device &device) {
    if (operation.is("integer_matmul")) return nullptr;  // handled by its program
    if (operation.tensor(0).numel() == 0) return make_empty_plan();
    auto product = make_product(product_of(operation), device);
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

// ---- Epilogues ----------------------------------------------------------------------------------

// A program that only adds tensors to the product and stores the sum.
struct Sum {
    const InfiniOperand *terms[2] = {};
    int count = 0;
    const InfiniOperand *output = nullptr;

    // False: the program does something else.
    bool find(const InfiniProgram &program) {
        if (program.phase_count != 1 || program.stage_count < 1 || program.stage_count > 2)
            return false;
        const InfiniOperand *sum = nullptr;  // the sum so far; null: the product
        for (int i = 0; i < program.stage_count; ++i) {
            const InfiniStage &stage = program.stages[i];
            if (stage.kind != INFINI_STAGE_ELEMENTS || stage.input_count != 2 || stage.folds ||
                stage.output_count != 1 || stage.outputs[0] < 0 ||
                !infini::program::is_call(infini::program::expression_of(program, i),
                                          INFINI_NODE_ADD, 2))
                return false;
            const InfiniOperand *x = &program.operands[stage.inputs[0]];
            const InfiniOperand *y = &program.operands[stage.inputs[1]];
            auto is_so_far = [&](const InfiniOperand *o) {
                return sum ? o == sum : is_product(*o);
            };
            if (!is_so_far(x)) std::swap(x, y);
            if (!is_so_far(x) || !is_tensor(*y) || y->index == 0) return false;
            terms[count++] = y;
            sum = &program.operands[stage.outputs[0]];
            if (i + 1 < program.stage_count && sum->kind != INFINI_OPERAND_ELEMENT) return false;
        }
        output = sum;
        return is_tensor(*output) && output->index != 0;
    }

private:
    static bool is_tensor(const InfiniOperand &o) {
        return o.kind == INFINI_OPERAND_TENSOR && o.view == INFINI_VIEW_PLAIN;
    }
    static bool is_product(const InfiniOperand &o) { return is_tensor(o) && o.index == 0; }
};

bool same_sizes(const Tensor &a, const Tensor &b) {
    if (a.ndim != b.ndim) return false;
    for (int i = 0; i < a.ndim; ++i)
        if (a.size(i) != b.size(i)) return false;
    return true;
}

// Whether a tensor is the same for all rows of all matrices, and dense along the columns.
bool is_bias(const Tensor &t, int64_t columns) {
    if (t.ndim < 1 || t.size(-1) != columns || (columns > 1 && t.stride(-1) != 1)) return false;
    for (int i = 0; i + 1 < t.ndim; ++i)
        if (t.size(i) != 1 && t.stride(i) != 0) return false;
    return true;
}

std::unique_ptr<Plan> plan_sum(const Operation &operation, Device &device) {
    Sum sum;
    if (!sum.find(*operation.program())) return nullptr;
    const Tensor c = operation.tensor(0), out = operation.tensor(sum.output->index);
    if (!same_sizes(c, out) || out.dtype != c.dtype) return nullptr;
    ProductShape shape = product_of(operation);
    shape.c = matrix(out);
    int bias = -1, addend = -1;  // pointer indices
    for (int i = 0; i < sum.count; ++i) {
        const Tensor term = operation.tensor(sum.terms[i]->index);
        if (term.dtype != c.dtype) return nullptr;
        if (bias < 0 && is_bias(term, shape.n) && c.dtype != INFINI_DTYPE_F64) {
            bias = sum.terms[i]->pointer, shape.biased = true;
        } else if (addend < 0 && same_sizes(c, term)) {
            addend = sum.terms[i]->pointer, shape.addend = matrix(term);
        } else {
            return nullptr;
        }
    }
    if (c.numel() == 0) return make_empty_plan();
    auto product = make_product(shape, device);
    const size_t workspace = product->workspace;
    const int to = sum.output->pointer;
    return make_plan(
        [=](const Arguments &arguments, const Stream &stream) {
            ProductData data{arguments.pointer<void>(1), arguments.pointer<void>(2),
                             arguments.pointer<void>(to), arguments.number(0)};
            if (bias >= 0) data.bias = arguments.pointer<void>(bias);
            if (addend >= 0) data.addend = arguments.pointer<void>(addend), data.beta = 1;
            return product->run(data, stream, arguments.workspace());
        },
        workspace);
}

// Compiles the program into the kernel for few rows, where a second launch costs as much as the
// first. Otherwise the library followed by a map is faster.
std::unique_ptr<Plan> plan_program(const Operation &operation, Device &device) {
    constexpr int64_t kFewRows = 16;
    ProductShape shape = product_of(operation);
    if (shape.invariant || (shape.m > kFewRows && has_library(device))) return nullptr;
    shape.epilogue = program::Epilogue::make(operation);
    if (!shape.epilogue) return nullptr;
    if (operation.tensor(0).numel() == 0) return make_empty_plan();
    auto product = make_product(shape, device);
    const size_t workspace = product->workspace;
    return make_plan(
        [product = std::move(product)](const Arguments &arguments, const Stream &stream) {
            ProductData data{arguments.pointer<void>(1), arguments.pointer<void>(2), nullptr,
                             arguments.number(0)};
            data.arguments = &arguments;
            return product->run(data, stream, arguments.workspace());
        },
        workspace);
}

std::unique_ptr<Plan> plan_with_epilogue(const Operation &operation, Device &device) {
    auto plan = plan_sum(operation, device);
    return plan ? std::move(plan) : plan_program(operation, device);
}

INFINI_CUDA_KERNEL("gemm", plan_gemm);
INFINI_CUDA_KERNEL("gemm+", plan_with_epilogue);

}  // namespace
}  // namespace infini::cuda
