// The tensors that each quantisation stores for a weight, and the products with them.
#pragma once

#include <vector>

#include "infinicore/quantization.hpp"
#include "infinicore/tensor.hpp"

namespace infinicore::nn {

// What the linear layers compute: alpha * input @ weight.T + bias, by the weight's storage. An empty
// bias is none.
Tensor linear(const Tensor &input, const Tensor &weight, const Tensor &bias, float alpha);
Tensor linear_w8a8i8(const Tensor &input, const Tensor &weight, const Tensor &weight_scale,
                     const Tensor &bias, float alpha);
Tensor linear_awq(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                  const Tensor &qzeros, const Tensor &bias, float alpha);
Tensor linear_gptq(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                   const Tensor &qzeros, const Tensor &g_idx, const Tensor &bias, float alpha);
Tensor linear_qyblas(const Tensor &input, const Tensor &qweight, const Tensor &scales,
                     const Tensor &qzeros, const Tensor &bias, float alpha);

constexpr Size kNoDim = Size(-1);

enum class Role { WEIGHT, SCALE, ZEROS, GROUPS };

// A tensor of a checkpoint. Dimension `outputs` is split if the outputs are split over ranks,
// `inputs` if the inputs are; kNoDim: every rank has the whole.
struct StoredTensor {
    Role role;
    const char *name;
    Shape shape;
    DataType dtype;
    Size outputs, inputs;
};

std::vector<StoredTensor> stored_tensors(const quantization::BaseQuantization &quantization,
                                         size_t in, size_t out, DataType dtype);

// The tensors by role; empty where there is none.
struct StoredWeight {
    const Tensor &weight, &scale, &zeros, &groups;
};

Tensor multiply(const quantization::BaseQuantization &quantization, const Tensor &input,
                const StoredWeight &stored, const Tensor &bias, float alpha);

}  // namespace infinicore::nn
