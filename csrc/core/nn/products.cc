#include "infinicore/ops/add.hpp"
#include "infinicore/ops/cast.hpp"
#include "infinicore/ops/linear.hpp"
#include "infinicore/ops/linear_w8a8i8.hpp"
#include "infinicore/ops/mul_scalar.hpp"
#include "infinicore/ops/run.hpp"
#include "schemes.h"

namespace infinicore::nn {
namespace {

std::optional<Tensor> if_any(const Tensor &bias) {
    return bias ? std::optional<Tensor>(bias) : std::nullopt;
}

Tensor cast(const Tensor &x, DataType dtype) {
    if (x->dtype() == dtype) return x;
    Tensor out = Tensor::empty(x->shape(), dtype, x->device());
    op::cast_(out, x);
    return out;
}

// Weights of 4 bits are expanded to F16, [in, out]; the operators' scales are F16 too.
Tensor with_expanded(const char *expand, std::vector<op::Argument> packed, Size in, Size out,
                     const Tensor &input, const Tensor &bias, float alpha) {
    Tensor weight = Tensor::empty({in, out}, DataType::F16, input->device());
    packed.insert(packed.begin(), weight);
    op::run(expand, packed);
    return op::linear_packed(input, cast(weight, input->dtype()), if_any(bias), alpha);
}

Tensor half(const Tensor &scales) { return cast(scales->contiguous(), DataType::F16); }

}  // namespace

Tensor linear(const Tensor &input, const Tensor &weight, const Tensor &bias, float alpha) {
    return op::linear(input, weight, if_any(bias), alpha);
}

Tensor linear_w8a8i8(const Tensor &input, const Tensor &weight, const Tensor &weight_scale,
                     const Tensor &bias, float alpha) {
    Tensor scale = alpha == 1 ? weight_scale : op::mul_scalar(weight_scale, alpha);
    return op::linear_w8a8i8(input, weight, scale, if_any(bias));
}

Tensor linear_awq(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                  const Tensor &qzeros, const Tensor &bias, float alpha) {
    return with_expanded("dequantize_awq",
                         {qweight->contiguous(), half(scales), qzeros->contiguous()},
                         qweight->size(0), scales->size(1), input, bias, alpha);
}

Tensor linear_gptq(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                   const Tensor &qzeros, const Tensor &g_idx, const Tensor &bias, float alpha) {
    return with_expanded(
        "dequantize_gptq",
        {qweight->contiguous(), half(scales), qzeros->contiguous(), g_idx->contiguous()},
        g_idx->size(0), scales->size(1), input, bias, alpha);
}

Tensor linear_qyblas(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                     const Tensor &qzeros, const Tensor &bias, float alpha) {
    Shape shape = input->shape();
    Size width = 2 * qweight->size(0);
    Tensor rows = input->contiguous()->view({input->numel() / width, width});
    shape.back() = qweight->size(1);
    Tensor out = Tensor::empty({rows->size(0), shape.back()}, input->dtype(), input->device());
    op::run("gptq_qyblas_gemm", {out, rows, qweight, scales, qzeros}, {}, {int64_t{0}, int64_t{4}});
    if (alpha != 1) op::mul_scalar_(out, out, alpha);
    if (bias) op::add_(out, out, bias);
    return out->view(shape);
}

}  // namespace infinicore::nn
