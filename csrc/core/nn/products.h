// What the linear layers compute: alpha * input @ weight.T + bias, by the weight's storage. An empty
// bias is none.
#pragma once

#include "infinicore/tensor.hpp"

namespace infinicore::nn {

Tensor linear(const Tensor &input, const Tensor &weight, const Tensor &bias, float alpha);
Tensor linear_w8a8i8(const Tensor &input, const Tensor &weight, const Tensor &weight_scale,
                     const Tensor &bias, float alpha);
Tensor linear_awq(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                  const Tensor &qzeros, const Tensor &bias, float alpha);
Tensor linear_gptq(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                   const Tensor &qzeros, const Tensor &g_idx, const Tensor &bias, float alpha);
Tensor linear_qyblas(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                     const Tensor &qzeros, const Tensor &bias, float alpha);

}  // namespace infinicore::nn
