// Norms and embeddings.
#include "infinicore/nn/embedding.hpp"
#include "infinicore/nn/layer_norm.hpp"
#include "infinicore/nn/rmsnorm.hpp"
#include "infinicore/ops/add_rms_norm.hpp"
#include "infinicore/ops/embedding.hpp"
#include "infinicore/ops/layer_norm.hpp"
#include "infinicore/ops/rms_norm.hpp"
#include "layout.h"
#include "text.h"

namespace infinicore::nn {

using detail::fail;

// ---- RMSNorm ------------------------------------------------------------------------------------

RMSNorm::RMSNorm(size_t normalized_shape, double eps, const DataType &dtype, const Device &device)
    : normalized_shape_(normalized_shape), eps_(eps), dtype_(dtype) {
    device_ = device;
    INFINICORE_NN_PARAMETER_INIT(weight, ({normalized_shape}, dtype, device));
}

Tensor RMSNorm::forward(const Tensor &x) const { return op::rms_norm(x, weight_, float(eps_)); }

void RMSNorm::forward_inplace(Tensor &x, Tensor &residual) const {
    if (!residual) {
        residual = x;
        x = forward(x);
    } else {
        op::add_rms_norm_(x, residual, x, residual, weight_, float(eps_));
    }
}

std::string RMSNorm::extra_repr() const {
    return "RMSNorm(" + std::to_string(normalized_shape_) + ", eps=" + text_of(eps_) +
           ", dtype=" + toString(dtype_) + ")";
}

// ---- LayerNorm ----------------------------------------------------------------------------------

LayerNorm::LayerNorm(size_t normalized_shape, double eps, const DataType &dtype,
                     const Device &device)
    : normalized_shape_(normalized_shape), eps_(eps), dtype_(dtype) {
    device_ = device;
    INFINICORE_NN_PARAMETER_INIT(weight, ({normalized_shape}, dtype, device));
    INFINICORE_NN_PARAMETER_INIT(bias, ({normalized_shape}, dtype, device));
}

Tensor LayerNorm::forward(const Tensor &x) const {
    return op::layer_norm(x, weight_, bias_, float(eps_));
}

std::string LayerNorm::extra_repr() const {
    return "LayerNorm(" + std::to_string(normalized_shape_) + ", eps=" + text_of(eps_) +
           ", dtype=" + toString(dtype_) + ")";
}

// ---- Embedding ----------------------------------------------------------------------------------

Embedding::Embedding(size_t num_embeddings, size_t embedding_dim,
                     std::optional<int64_t> padding_idx, const DataType &dtype,
                     const Device &device)
    : num_embeddings_(num_embeddings),
      embedding_dim_(embedding_dim),
      padding_idx_(padding_idx),
      dtype_(dtype) {
    int64_t count = int64_t(num_embeddings);
    if (padding_idx && (*padding_idx < -count || *padding_idx >= count))
        fail("Embedding", "padding_idx is " + std::to_string(*padding_idx) +
                              ": expected one of the " + std::to_string(count) + " rows");
    device_ = device;
    INFINICORE_NN_PARAMETER_INIT(weight, ({num_embeddings, embedding_dim}, dtype, device));
}

Tensor Embedding::forward(const Tensor &indices) const {
    return op::embedding(indices->to(weight_->device()), weight_);
}

std::string Embedding::extra_repr() const {
    std::string padding =
        padding_idx_ ? ", padding_idx=" + std::to_string(*padding_idx_) : std::string();
    return "Embedding(" + std::to_string(num_embeddings_) + ", " + std::to_string(embedding_dim_) +
           padding + ", dtype=" + toString(dtype_) + ")";
}

}  // namespace infinicore::nn
