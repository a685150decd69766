// Rotary position embedding.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "module.hpp"
#include "rope_scaling_configs.hpp"

namespace infinicore::nn {

// Rotates pairs of a head's elements by angles that grow with the position: pair i at position p by
// p * theta^(-2i / rotary_dim), unless a scaling changes that. Elements from rotary_dim on are
// unchanged.
class INFINI_EXPORT RoPE : public Module {
public:
    // Pairs are adjacent elements (2i, 2i + 1), or one from each half (i, i + rotary_dim / 2).
    enum class Algo { GPT_J = 0, GPT_NEOX = 1 };

    // mrope_section (time, height, width) says how many pairs take their angles from each row of
    // positions [3, tokens]: in three sections, or interleaved. It needs GPT_NEOX.
    RoPE(size_t head_dim, size_t rotary_dim, size_t max_seq_len, double theta = 10000.0,
         Algo algo = Algo::GPT_J, const DataType &dtype = DataType::F32,
         const Device &device = Device(), std::shared_ptr<RopeScalingConfig> scaling = nullptr,
         std::optional<std::vector<int>> mrope_section = std::nullopt,
         bool mrope_interleaved = false);

    // x is [..., tokens, heads, head_dim] with any strides, pos [tokens] or [..., tokens]. The last
    // dimension may also be rotary_dim: only the rotated part.
    Tensor forward(const Tensor &x, const Tensor &pos, bool in_place = false) const;
    // Queries and keys; with mrope_section the positions may be [3, tokens].
    std::pair<Tensor, Tensor> forward(const Tensor &q, const Tensor &k,
                                      const Tensor &positions) const;
    // Writes into the given tensors and returns them. They may be q and k themselves.
    std::pair<Tensor, Tensor> forward(const Tensor &q_out, const Tensor &k_out, const Tensor &q,
                                      const Tensor &k, const Tensor &positions) const;

    // Tables [max_seq_len, rotary_dim / 2]; buffers, so not in the state dict.
    Tensor sin_cache() const { return sin_cache_; }
    Tensor cos_cache() const { return cos_cache_; }
    size_t head_dim() const { return head_dim_; }
    size_t rotary_dim() const { return rotary_dim_; }
    size_t max_seq_len() const { return max_seq_len_; }
    double theta() const { return theta_; }
    Algo algo() const { return algo_; }
    DataType dtype() const { return dtype_; }
    const std::optional<std::vector<int>> &mrope_section() const { return mrope_section_; }
    bool mrope_interleaved() const { return mrope_interleaved_; }
    std::string extra_repr() const;

protected:
    INFINICORE_NN_BUFFER(sin_cache);
    INFINICORE_NN_BUFFER(cos_cache);

private:
    void rotate(const Tensor &out, const Tensor &x, const Tensor &pos) const;
    void rotate_by_three(const Tensor &q_out, const Tensor &k_out, const Tensor &q, const Tensor &k,
                         const Tensor &positions) const;
    void fill_tables(const RopeScalingConfig &scaling);

    size_t head_dim_;
    size_t rotary_dim_;
    size_t max_seq_len_;
    double theta_;
    Algo algo_;
    DataType dtype_;
    std::optional<std::vector<int>> mrope_section_;
    bool mrope_interleaved_;
};

}  // namespace infinicore::nn
