#pragma once

#include <cstdint>
#include <optional>

#include "module.hpp"

namespace infinicore::nn {

// Rows of a weight by index.
class INFINI_EXPORT Embedding : public Module {
public:
    // padding_idx has no effect: in inference its row is like any other.
    Embedding(size_t num_embeddings, size_t embedding_dim,
              std::optional<int64_t> padding_idx = std::nullopt,
              const DataType &dtype = DataType::F32, const Device &device = Device());

    // Indices I32 or I64 of any shape; the result has one dimension more.
    Tensor forward(const Tensor &indices) const;

    size_t num_embeddings() const { return num_embeddings_; }
    size_t embedding_dim() const { return embedding_dim_; }
    std::optional<int64_t> padding_idx() const { return padding_idx_; }
    DataType dtype() const { return dtype_; }
    Tensor weight() const { return weight_; }
    std::string extra_repr() const;

protected:
    INFINICORE_NN_PARAMETER(weight);

private:
    size_t num_embeddings_;
    size_t embedding_dim_;
    std::optional<int64_t> padding_idx_;
    DataType dtype_;
};

}  // namespace infinicore::nn
