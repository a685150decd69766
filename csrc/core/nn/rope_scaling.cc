#include <algorithm>
#include <cmath>

#include "infinicore/nn/rope_scaling_configs.hpp"
#include "layout.h"
#include "text.h"

namespace infinicore::nn {

using detail::fail;

namespace {

constexpr double kTwoPi = 6.283185307179586;

void need_positive(const char *config, const char *argument, double value) {
    if (!(value > 0))
        fail(config, std::string(argument) + " is " + text_of(value) +
                         ": expected a number greater than 0");
}

}  // namespace

RopeScalingConfig::~RopeScalingConfig() = default;

float RopeScalingConfig::get_freq_scale(size_t, size_t, float) const { return 1; }
float RopeScalingConfig::get_magnitude_scale(size_t, size_t, float) const { return 1; }

// ---- LongRoPE -----------------------------------------------------------------------------------

LongRopeScalingConfig::LongRopeScalingConfig(std::vector<float> short_factor,
                                             std::vector<float> long_factor,
                                             size_t original_max_position_embeddings, float factor)
    : short_factor_(std::move(short_factor)),
      long_factor_(std::move(long_factor)),
      original_max_position_embeddings_(original_max_position_embeddings),
      factor_(factor),
      magnitude_(1) {
    const char *name = "LongRopeScalingConfig";
    if (short_factor_.size() != long_factor_.size())
        fail(name, "long_factor has " + std::to_string(long_factor_.size()) +
                       " numbers: expected " + std::to_string(short_factor_.size()) +
                       ", as many as short_factor");
    for (float each : short_factor_) need_positive(name, "a number of short_factor", each);
    for (float each : long_factor_) need_positive(name, "a number of long_factor", each);
    need_positive(name, "factor", factor);
    if (factor > 1) {
        if (original_max_position_embeddings < 2)
            fail(name, "original_max_position_embeddings is " +
                           std::to_string(original_max_position_embeddings) +
                           ": expected at least 2");
        double original = double(original_max_position_embeddings);
        magnitude_ = float(std::sqrt(1 + std::log(double(factor)) / std::log(original)));
    }
}

float LongRopeScalingConfig::get_freq_scale(size_t pos, size_t dim_idx, float) const {
    bool is_short = pos < original_max_position_embeddings_;
    const std::vector<float> &factors = is_short ? short_factor_ : long_factor_;
    if (dim_idx >= factors.size())
        fail("LongRopeScalingConfig", "the factors are for " + std::to_string(factors.size()) +
                                          " pairs: expected one for each of rotary_dim / 2");
    return 1 / factors[dim_idx];
}

float LongRopeScalingConfig::get_magnitude_scale(size_t, size_t, float) const { return magnitude_; }

// ---- Llama 3 ------------------------------------------------------------------------------------

Llama3RopeScalingConfig::Llama3RopeScalingConfig(float factor, float low_freq_factor,
                                                 float high_freq_factor,
                                                 size_t original_max_position_embeddings)
    : factor_(factor),
      low_freq_factor_(low_freq_factor),
      high_freq_factor_(high_freq_factor),
      original_max_position_embeddings_(original_max_position_embeddings) {
    const char *name = "Llama3RopeScalingConfig";
    need_positive(name, "factor", factor);
    need_positive(name, "low_freq_factor", low_freq_factor);
    if (!(high_freq_factor > low_freq_factor))
        fail(name, "high_freq_factor is " + text_of(high_freq_factor) +
                       ": expected more than low_freq_factor, which is " +
                       text_of(low_freq_factor));
}

float Llama3RopeScalingConfig::get_freq_scale(size_t, size_t, float base_inv_freq) const {
    // The number of rotations of the pair in the original context.
    double turns = double(original_max_position_embeddings_) * double(base_inv_freq) / kTwoPi;
    double low = low_freq_factor_, high = high_freq_factor_;
    double kept = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    return float(kept + (1 - kept) / factor_);
}

// ---- YaRN ---------------------------------------------------------------------------------------

YarnRopeScalingConfig::YarnRopeScalingConfig(float factor, size_t original_max_position_embeddings,
                                             size_t rotary_dim, float rope_theta, float beta_fast,
                                             float beta_slow, float mscale, float mscale_all_dim)
    : factor_(factor) {
    const char *name = "YarnRopeScalingConfig";
    need_positive(name, "factor", factor);
    need_positive(name, "beta_slow", beta_slow);
    need_positive(name, "beta_fast", beta_fast);
    if (!(rope_theta > 1))
        fail(name, "rope_theta is " + text_of(rope_theta) + ": expected more than 1");
    double size = double(rotary_dim), original = double(original_max_position_embeddings);
    // The pair with this many rotations in the original context.
    auto pair = [&](double turns) {
        return size * std::log(original / (turns * kTwoPi)) / (2 * std::log(double(rope_theta)));
    };
    low_ = std::max(std::floor(pair(beta_fast)), 0.0);
    high_ = std::min(std::ceil(pair(beta_slow)), size - 1);
    if (low_ == high_) high_ += 0.001;  // a step
    auto magnitude = [&](double weight) {
        return factor > 1 ? 0.1 * weight * std::log(double(factor)) + 1 : 1.0;
    };
    magnitude_ = float(magnitude(mscale) / magnitude(mscale_all_dim));
}

float YarnRopeScalingConfig::get_freq_scale(size_t, size_t dim_idx, float) const {
    double stretched = std::clamp((double(dim_idx) - low_) / (high_ - low_), 0.0, 1.0);
    return float(stretched / factor_ + (1 - stretched));
}

float YarnRopeScalingConfig::get_magnitude_scale(size_t, size_t, float) const { return magnitude_; }

size_t YarnRopeScalingConfig::max_seq_len(float factor, size_t original_max_position_embeddings) {
    return size_t(double(factor) * double(original_max_position_embeddings));
}

}  // namespace infinicore::nn
