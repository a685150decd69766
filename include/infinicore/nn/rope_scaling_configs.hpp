// Scalings of rotary embeddings for sequences longer than the training context.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "../types.hpp"

namespace infinicore::nn {

// The frequency of pair dim_idx at position pos is base_inv_freq * get_freq_scale(…); its sine and
// cosine are multiplied by get_magnitude_scale(…).
class INFINI_EXPORT RopeScalingConfig {
public:
    virtual ~RopeScalingConfig();
    virtual float get_freq_scale(size_t pos, size_t dim_idx, float base_inv_freq) const;
    virtual float get_magnitude_scale(size_t pos, size_t dim_idx, float base_inv_freq) const;
};

// LongRoPE: frequencies divided by a factor per pair, the short factors at positions within the
// original context, the long ones beyond it. `factor` is the extension of the context.
class INFINI_EXPORT LongRopeScalingConfig : public RopeScalingConfig {
public:
    LongRopeScalingConfig(std::vector<float> short_factor, std::vector<float> long_factor,
                          size_t original_max_position_embeddings, float factor = 1.0f);

    float get_freq_scale(size_t pos, size_t dim_idx, float base_inv_freq) const override;
    float get_magnitude_scale(size_t pos, size_t dim_idx, float base_inv_freq) const override;

    const std::vector<float> &short_factor() const { return short_factor_; }
    const std::vector<float> &long_factor() const { return long_factor_; }
    size_t original_max_position_embeddings() const { return original_max_position_embeddings_; }
    float factor() const { return factor_; }

private:
    std::vector<float> short_factor_, long_factor_;
    size_t original_max_position_embeddings_;
    float factor_;
    float magnitude_;
};

// Llama 3: low frequencies divided by the factor, high ones unchanged, a linear transition in
// between.
class INFINI_EXPORT Llama3RopeScalingConfig : public RopeScalingConfig {
public:
    Llama3RopeScalingConfig(float factor, float low_freq_factor, float high_freq_factor,
                            size_t original_max_position_embeddings);

    float get_freq_scale(size_t pos, size_t dim_idx, float base_inv_freq) const override;

private:
    float factor_, low_freq_factor_, high_freq_factor_;
    size_t original_max_position_embeddings_;
};

// YaRN: as Llama 3's, with the transition between the pairs that make beta_fast and beta_slow
// rotations within the original context, and larger sines and cosines.
class INFINI_EXPORT YarnRopeScalingConfig : public RopeScalingConfig {
public:
    YarnRopeScalingConfig(float factor, size_t original_max_position_embeddings, size_t rotary_dim,
                          float rope_theta, float beta_fast = 32, float beta_slow = 1,
                          float mscale = 1, float mscale_all_dim = 0);

    float get_freq_scale(size_t pos, size_t dim_idx, float base_inv_freq) const override;
    float get_magnitude_scale(size_t pos, size_t dim_idx, float base_inv_freq) const override;

    static size_t max_seq_len(float factor, size_t original_max_position_embeddings);

private:
    float factor_;
    double low_, high_;  // the transition, in pairs
    float magnitude_;
};

}  // namespace infinicore::nn
