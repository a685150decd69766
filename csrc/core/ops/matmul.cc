// Products of matrices: linear layers, batches, and sums of products.
#include "infinicore/ops/matmul.hpp"

#include "infinicore/ops/baddbmm.hpp"
#include "infinicore/ops/bilinear.hpp"
#include "infinicore/ops/bmm_strided.hpp"
#include "infinicore/ops/gemm.hpp"
#include "infinicore/ops/linear.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

// Shape of a product [..., M, N], the batches broadcast.
Shape product_shape(const char *function, const Tensor &a, const Tensor &b) {
    if (a->ndim() < 2 || b->ndim() < 2)
        refuse_shape(function, a->ndim() < 2 ? "a" : "b", a->ndim() < 2 ? a : b, "matrices");
    const size_t rank = std::max(a->ndim(), b->ndim());
    Shape shape(rank, 1);
    shape[rank - 2] = a->shape()[a->ndim() - 2];
    shape[rank - 1] = b->shape()[b->ndim() - 1];
    for (const Tensor *each : {&a, &b})
        for (size_t i = 0; i + 2 < (*each)->ndim(); ++i) {
            Size &size = shape[rank - (*each)->ndim() + i];
            const Size own = (*each)->shape()[i];
            if (size == 1) size = own;
            if (own != size && own != 1)
                refuse_shape(function, each == &a ? "a" : "b", *each, "batches that broadcast");
        }
    return shape;
}

// Matrices with a single batch dimension.
Tensor batched(const Tensor &tensor, const Shape &product) {
    Shape shape(product.begin(), product.end() - 2);
    Size batch = 1;
    for (Size size : shape) batch *= size;
    const Size rows = tensor->shape()[tensor->ndim() - 2], columns = tensor->shape().back();
    shape.insert(shape.end(), {rows, columns});
    return reshape(tensor->shape() == shape ? tensor : expand(tensor, shape),
                   {batch, rows, columns});
}

void matrix_rows(const char *function, const Tensor &out, const Tensor &input,
                 const Tensor &columns, const std::optional<Tensor> &bias, float alpha) {
    need_rank(function, "the weight", columns, 2);
    const Size width = columns->shape()[0], count = columns->shape()[1];
    if (input->ndim() == 0 || input->shape().back() != width)
        refuse_shape(function, "input", input, "rows of " + std::to_string(width));
    Shape shape = input->shape();
    shape.back() = count;
    if (out->shape() != shape) refuse_shape(function, "out", out, "the input's rows");
    Size rows = 1;
    for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
    const Tensor folded = reshape(input, {rows, width});
    const bool has_bias = bias && *bias;
    const bool fits = is_viewable(out, {rows, count});
    // A graph fuses the product with the sum when only the sum is used.
    const bool is_apart = !fits || (has_bias && is_recording());
    const Tensor product = is_apart ? empty_like(out, {rows, count}) : out->view({rows, count});
    gemm_(product, folded, columns, alpha, 0.0f);
    if (has_bias) emit("add", {fits ? out->view({rows, count}) : product, product, *bias});
    if (!fits) out->copy_from(product->view(shape));
}

Tensor rows_for(const Tensor &input, Size count) {
    Shape shape = input->shape();
    if (shape.empty()) refuse_shape("linear", "input", input, "one dimension at least");
    shape.back() = count;
    return empty_like(input, std::move(shape));
}

}  // namespace

void linear_(Tensor out, Tensor input, Tensor weight, std::optional<Tensor> bias, float alpha) {
    INFINI_NEED_TENSORS(out, input, weight);
    need_rank("linear_", "weight", weight, 2);
    matrix_rows("linear_", out, input, weight->permute({1, 0}), bias, alpha);
}

Tensor linear(Tensor input, Tensor weight, std::optional<Tensor> bias, float alpha) {
    INFINI_NEED_TENSORS(input, weight);
    need_rank("linear", "weight", weight, 2);
    Tensor out = rows_for(input, weight->shape()[0]);
    matrix_rows("linear", out, input, weight->permute({1, 0}), bias, alpha);
    return out;
}

// A packed weight is [in, out].
void linear_packed_(Tensor out, Tensor input, Tensor packed_weight, std::optional<Tensor> bias,
                    float alpha) {
    INFINI_NEED_TENSORS(out, input, packed_weight);
    matrix_rows("linear_packed_", out, input, packed_weight, bias, alpha);
}

Tensor linear_packed(Tensor input, Tensor packed_weight, std::optional<Tensor> bias, float alpha) {
    INFINI_NEED_TENSORS(input, packed_weight);
    need_rank("linear_packed", "packed_weight", packed_weight, 2);
    Tensor out = rows_for(input, packed_weight->shape()[1]);
    matrix_rows("linear_packed", out, input, packed_weight, bias, alpha);
    return out;
}

void matmul_(Tensor c, Tensor a, Tensor b, float alpha) {
    INFINI_NEED_TENSORS(c, a, b);
    if (a->ndim() == 2 && b->ndim() == 2) return gemm_(c, a, b, alpha, 0.0f);
    const Shape shape = product_shape("matmul_", a, b);
    if (c->shape() != shape) refuse_shape("matmul_", "c", c, "the shape of the product");
    if (shape.size() == 3 && a->ndim() == 3 && b->ndim() == 3 && a->shape()[0] == b->shape()[0])
        return gemm_(c, a, b, alpha, 0.0f);
    const Tensor first = batched(a, shape), second = batched(b, shape);
    const Shape folded{first->shape()[0], shape[shape.size() - 2], shape.back()};
    const bool fits = is_viewable(c, folded);
    const Tensor made = fits ? c->view(folded) : empty_like(c, folded);
    gemm_(made, first, second, alpha, 0.0f);
    if (!fits) c->copy_from(made->view(shape));
}

Tensor matmul(Tensor a, Tensor b, float alpha) {
    INFINI_NEED_TENSORS(a, b);
    Tensor c = empty_like(a, product_shape("matmul", a, b));
    matmul_(c, a, b, alpha);
    return c;
}

void bmm_strided_(Tensor output, const Tensor &a, const Tensor &b) {
    INFINI_NEED_TENSORS(output, a, b);
    matmul_(output, a, b, 1.0f);
}

// beta * input + alpha * batch1 @ batch2
void baddbmm_(Tensor out, Tensor input, Tensor batch1, Tensor batch2, float beta, float alpha) {
    INFINI_NEED_TENSORS(out, input, batch1, batch2);
    if (beta == 0) return gemm_(out, batch1, batch2, alpha, beta);
    // Initialising out must not change the matrices.
    const bool is_apart = !memories_meet(*out->memory(), *batch1->memory()) &&
                          !memories_meet(*out->memory(), *batch2->memory());
    const Tensor sum = is_apart ? out : empty_like(out, out->shape());
    store("baddbmm_", "out", sum, expand(input, out->shape()));
    gemm_(sum, batch1, batch2, alpha, beta);
    if (!is_apart) out->copy_from(sum);
}

Tensor baddbmm(Tensor input, Tensor batch1, Tensor batch2, float beta, float alpha) {
    INFINI_NEED_TENSORS(input, batch1, batch2);
    Tensor out = empty_like(batch1, product_shape("baddbmm", batch1, batch2));
    baddbmm_(out, input, batch1, batch2, beta, alpha);
    return out;
}

// out[n, o] = sum over i, j of x1[n, i] weight[o, i, j] x2[n, j], plus bias[o]
void bilinear_(Tensor out, Tensor x1, Tensor x2, Tensor weight, std::optional<Tensor> bias) {
    INFINI_NEED_TENSORS(out, x1, x2, weight);
    need_rank("bilinear_", "weight", weight, 3);
    const Shape &sizes = weight->shape();
    if (x1->ndim() == 0 || x1->shape().back() != sizes[1])
        refuse_shape("bilinear_", "x1", x1, "rows of " + std::to_string(sizes[1]));
    Size rows = 1;
    for (size_t i = 0; i + 1 < x1->ndim(); ++i) rows *= x1->shape()[i];
    const Tensor columns = reshape(weight->permute({1, 0, 2}), {sizes[1], sizes[0] * sizes[2]});
    const Tensor half = matmul(reshape(x1, {rows, sizes[1]}), columns, 1.0f);
    const Tensor made =
        matmul(half->view({rows, sizes[0], sizes[2]}), reshape(x2, {rows, sizes[2], 1}), 1.0f);
    const Tensor flat = made->view({rows, sizes[0]});
    Shape shape = x1->shape();
    shape.back() = sizes[0];
    store("bilinear_", "out", out,
          (bias && *bias ? make("add", {flat, *bias}) : flat)->view(shape));
}

Tensor bilinear(Tensor x1, Tensor x2, Tensor weight, std::optional<Tensor> bias) {
    INFINI_NEED_TENSORS(x1, x2, weight);
    Shape shape = x1->shape();
    if (shape.empty()) refuse_shape("bilinear", "x1", x1, "one dimension at least");
    need_rank("bilinear", "weight", weight, 3);
    shape.back() = weight->shape()[0];
    Tensor out = empty_like(x1, std::move(shape));
    bilinear_(out, x1, x2, weight, bias);
    return out;
}

}  // namespace infinicore::op
