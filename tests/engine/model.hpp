// A decoder-only transformer as engines write it: a tree of modules whose fused weights are loaded
// through narrowed parameters, split over the ranks of a tensor-parallel group.
#pragma once

#include <infinicore/nn/embedding.hpp>
#include <infinicore/nn/linear.hpp>
#include <infinicore/nn/module.hpp>
#include <infinicore/nn/rmsnorm.hpp>
#include <infinicore/nn/rope.hpp>
#include <infinicore/ops.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cache.hpp"

namespace engine {

using infinicore::nn::Parameter;

struct Config {
    size_t vocab, hidden, layers, heads, kv_heads, head_dim, intermediate, max_positions;
    double rope_theta, eps;
    bool qkv_bias = false;                      // Qwen2
    bool qk_norm = false;                       // Qwen3
    size_t experts = 0, experts_per_token = 0;  // 0: a dense feed-forward network
};

// The part of a model that one rank has.
struct Rank {
    size_t index = 0, count = 1;
    infinicore::Device device;
    infinicclComm_t communicator = nullptr;
};

inline Tensor rows(const Tensor &tensor, size_t begin, size_t count) {
    return tensor->narrow({{0, begin, count}});
}

class Attention : public infinicore::nn::Module {
public:
    Attention(const Config &config, const Rank &rank, size_t layer)
        : heads_(config.heads / rank.count),
          kv_heads_(config.kv_heads / rank.count),
          head_dim_(config.head_dim),
          layer_(layer) {
        const size_t q = heads_ * head_dim_, kv = kv_heads_ * head_dim_;
        weight_ = Tensor::empty({q + 2 * kv, config.hidden}, DataType::F32, rank.device);
        if (config.qkv_bias) bias_ = Tensor::empty({q + 2 * kv}, DataType::F32, rank.device);
        add_projection("q_proj", 0, q, rank);
        add_projection("k_proj", q, kv, rank);
        add_projection("v_proj", q + kv, kv, rank);
        INFINICORE_NN_MODULE_INIT(o_proj, config.heads * head_dim_, config.hidden, false,
                                  DataType::F32, rank.device, rank.index, rank.count,
                                  rank.communicator);
        INFINICORE_NN_MODULE_INIT(rotary, head_dim_, head_dim_, config.max_positions,
                                  config.rope_theta, infinicore::nn::RoPE::Algo::GPT_NEOX,
                                  DataType::F32, rank.device);
        if (!config.qk_norm) return;
        INFINICORE_NN_MODULE_INIT(q_norm, head_dim_, config.eps, DataType::F32, rank.device);
        INFINICORE_NN_MODULE_INIT(k_norm, head_dim_, config.eps, DataType::F32, rank.device);
    }

    Tensor forward(const Tensor &x, const Batch &batch, Cache &cache) const {
        const size_t tokens = x->size(0), q_size = heads_ * head_dim_,
                     kv_size = kv_heads_ * head_dim_;
        Tensor qkv =
            infinicore::op::linear(x, weight_, bias_ ? std::optional<Tensor>(bias_) : std::nullopt);
        auto part = [&](size_t begin, size_t heads) {
            return qkv->narrow({{1, begin, heads * head_dim_}})->view({tokens, heads, head_dim_});
        };
        Tensor q = part(0, heads_), k = part(q_size, kv_heads_),
               v = part(q_size + kv_size, kv_heads_);
        if (q_norm_) q = q_norm_->forward(q), k = k_norm_->forward(k);
        q = rotary_->forward(q, batch.positions, true);
        k = rotary_->forward(k, batch.positions, true);
        Tensor attended = cache.attend(layer_, q, k, v, batch)->view({tokens, q_size});
        return o_proj_->forward(attended);
    }

private:
    void add_projection(const std::string &name, size_t begin, size_t count, const Rank &rank) {
        register_parameter(name + ".weight",
                           Parameter(rows(weight_, begin, count), 0, rank.index, rank.count));
        if (bias_)
            register_parameter(name + ".bias",
                               Parameter(rows(bias_, begin, count), 0, rank.index, rank.count));
    }

    size_t heads_, kv_heads_, head_dim_, layer_;
    Tensor weight_, bias_;
    INFINICORE_NN_MODULE(infinicore::nn::RowParallelLinear, o_proj);
    INFINICORE_NN_MODULE(infinicore::nn::RoPE, rotary);
    INFINICORE_NN_MODULE(infinicore::nn::RMSNorm, q_norm);
    INFINICORE_NN_MODULE(infinicore::nn::RMSNorm, k_norm);
};

class FeedForward : public infinicore::nn::Module {
public:
    FeedForward(const Config &config, const Rank &rank) : size_(config.intermediate / rank.count) {
        weight_ = Tensor::empty({2 * size_, config.hidden}, DataType::F32, rank.device);
        register_parameter("gate_proj.weight",
                           Parameter(rows(weight_, 0, size_), 0, rank.index, rank.count));
        register_parameter("up_proj.weight",
                           Parameter(rows(weight_, size_, size_), 0, rank.index, rank.count));
        INFINICORE_NN_MODULE_INIT(down_proj, config.intermediate, config.hidden, false,
                                  DataType::F32, rank.device, rank.index, rank.count,
                                  rank.communicator);
    }

    Tensor forward(const Tensor &x) const {
        Tensor both = infinicore::op::linear(x, weight_, std::nullopt);
        Tensor gate = both->narrow({{1, 0, size_}}), up = both->narrow({{1, size_, size_}});
        Tensor active = infinicore::op::swiglu(up, gate);
        return down_proj_->forward(active);
    }

private:
    size_t size_;
    Tensor weight_;
    INFINICORE_NN_MODULE(infinicore::nn::RowParallelLinear, down_proj);
};

class MixtureOfExperts : public infinicore::nn::Module {
public:
    MixtureOfExperts(const Config &config, const Rank &rank)
        : chosen_(config.experts_per_token), rank_(rank) {
        const size_t count = config.experts, size = config.intermediate / rank.count;
        INFINICORE_NN_MODULE_INIT(gate, config.hidden, count, false, DataType::F32, rank.device);
        up_ = Tensor::empty({count, 2 * size, config.hidden}, DataType::F32, rank.device);
        down_ = Tensor::empty({count, config.hidden, size}, DataType::F32, rank.device);
        for (size_t i = 0; i < count; ++i) {
            const std::string name = "experts." + std::to_string(i);
            Tensor up = rows(up_, i, 1)->squeeze(0), down = rows(down_, i, 1)->squeeze(0);
            register_parameter(name + ".gate_proj.weight",
                               Parameter(rows(up, 0, size), 0, rank.index, rank.count));
            register_parameter(name + ".up_proj.weight",
                               Parameter(rows(up, size, size), 0, rank.index, rank.count));
            register_parameter(name + ".down_proj.weight",
                               Parameter(down, 1, rank.index, rank.count));
        }
    }

    Tensor forward(const Tensor &x) const {
        Tensor input = x;
        auto [weights, experts] =
            infinicore::op::moe_topk_softmax(gate_->forward(input), chosen_, true);
        Tensor result =
            infinicore::op::fused_moe(x, experts, weights, up_, down_, std::nullopt, std::nullopt,
                                      infinicore::op::FusedMoeActivation::Swiglu);
        if (rank_.communicator)
            infinicore::op::distributed::allreduce_(result, result, INFINICCL_SUM,
                                                    rank_.communicator);
        return result;
    }

private:
    size_t chosen_;
    Rank rank_;
    Tensor up_, down_;
    INFINICORE_NN_MODULE(infinicore::nn::Linear, gate);
};

class Layer : public infinicore::nn::Module {
public:
    Layer(const Config &config, const Rank &rank, size_t index) {
        INFINICORE_NN_MODULE_INIT(input_layernorm, config.hidden, config.eps, DataType::F32,
                                  rank.device);
        INFINICORE_NN_MODULE_INIT(post_attention_layernorm, config.hidden, config.eps,
                                  DataType::F32, rank.device);
        INFINICORE_NN_MODULE_INIT(self_attn, config, rank, index);
        if (config.experts)
            experts_ = register_module<MixtureOfExperts>("mlp", config, rank);
        else
            INFINICORE_NN_MODULE_INIT(mlp, config, rank);
    }

    // `residual` is what was added up so far; empty in the first layer.
    void forward(Tensor &x, Tensor &residual, const Batch &batch, Cache &cache) const {
        input_layernorm_->forward_inplace(x, residual);
        x = self_attn_->forward(x, batch, cache);
        post_attention_layernorm_->forward_inplace(x, residual);
        x = experts_ ? experts_->forward(x) : mlp_->forward(x);
    }

private:
    INFINICORE_NN_MODULE(infinicore::nn::RMSNorm, input_layernorm);
    INFINICORE_NN_MODULE(infinicore::nn::RMSNorm, post_attention_layernorm);
    INFINICORE_NN_MODULE(Attention, self_attn);
    INFINICORE_NN_MODULE(FeedForward, mlp);
    std::shared_ptr<MixtureOfExperts> experts_;
};

class Model : public infinicore::nn::Module {
public:
    Model(const Config &config, const Rank &rank) {
        INFINICORE_NN_MODULE_INIT(embed_tokens, config.vocab, config.hidden, std::nullopt,
                                  DataType::F32, rank.device);
        for (size_t i = 0; i < config.layers; ++i)
            layers_.push_back(
                register_module<Layer>("layers." + std::to_string(i), config, rank, i));
        INFINICORE_NN_MODULE_INIT(norm, config.hidden, config.eps, DataType::F32, rank.device);
        INFINICORE_NN_MODULE_INIT(lm_head, config.hidden, config.vocab, false, DataType::F32,
                                  rank.device);
    }

    // The logits of the last token of each sequence.
    Tensor forward(const Batch &batch, Cache &cache) const {
        Tensor x = embed_tokens_->forward(batch.tokens), residual;
        for (const auto &layer : layers_) layer->forward(x, residual, batch, cache);
        norm_->forward_inplace(x, residual);
        Tensor last = batch.last ? infinicore::op::embedding(batch.last, x) : x;
        return lm_head_->forward(last);
    }

private:
    INFINICORE_NN_MODULE(infinicore::nn::Embedding, embed_tokens);
    INFINICORE_NN_MODULE_VEC(Layer, layers);
    INFINICORE_NN_MODULE(infinicore::nn::RMSNorm, norm);
    INFINICORE_NN_MODULE(infinicore::nn::Linear, lm_head);
};

}  // namespace engine
