// Keys and values of earlier tokens: in one row for each sequence, or in blocks of a pool.
#pragma once

#include <cmath>
#include <infinicore/ops.hpp>
#include <infinicore/tensor.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace engine {

using infinicore::DataType;
using infinicore::Tensor;

// New tokens of several sequences, one sequence behind the other.
struct Batch {
    bool is_decode;            // one new token for each sequence
    size_t sequence = 0;       // the first one in a static cache
    Tensor tokens, positions;  // I64, one for each token
    Tensor slots;              // I64, where the token goes in a paged cache
    Tensor past;               // I32, keys of each sequence without the new ones
    Tensor lengths;            // I32, keys of each sequence with the new ones
    Tensor starts;             // I32, where the tokens of each sequence begin, and the end
    Tensor tables;             // I32, the blocks of each sequence
    Tensor last;               // I64, the last token of each sequence; empty in a decode step
};

class Cache {
public:
    virtual ~Cache() = default;
    // Adds the keys and values, and gives the attention of q to all of them. [tokens, heads, size]
    virtual Tensor attend(size_t layer, const Tensor &q, const Tensor &k, const Tensor &v,
                          const Batch &batch) = 0;

protected:
    static float scale(const Tensor &q) { return 1.0F / std::sqrt(float(q->size(2))); }
    std::vector<std::pair<Tensor, Tensor>> layers_;
};

class StaticCache : public Cache {
public:
    StaticCache(size_t layers, size_t sequences, size_t kv_heads, size_t length, size_t head_dim,
                const infinicore::Device &device) {
        for (size_t i = 0; i < layers; ++i) {
            auto part = [&] {
                return Tensor::zeros({sequences, kv_heads, length, head_dim}, DataType::F32,
                                     device);
            };
            layers_.emplace_back(part(), part());
        }
    }

    // Sequences of one length: the prompt of a single one, or a token of each.
    Tensor attend(size_t layer, const Tensor &q, const Tensor &k, const Tensor &v,
                  const Batch &batch) override {
        const size_t count = batch.lengths->size(0), length = q->size(0) / count;
        auto by_head = [&](const Tensor &x) {
            return x->view({count, length, x->size(1), x->size(2)})->permute({0, 2, 1, 3});
        };
        auto mine = [&](const Tensor &x) { return x->narrow({{0, batch.sequence, count}}); };
        Tensor keys = mine(layers_[layer].first), values = mine(layers_[layer].second);
        infinicore::op::kv_caching_(keys, values, by_head(k), by_head(v), batch.past);
        return infinicore::op::flash_attention(by_head(q), keys, values, batch.lengths, scale(q),
                                               true)
            ->permute({0, 2, 1, 3})
            ->contiguous()
            ->view(q->shape());
    }
};

class PagedCache : public Cache {
public:
    PagedCache(size_t layers, size_t blocks, size_t kv_heads, size_t block_size, size_t head_dim,
               const infinicore::Device &device) {
        for (size_t i = 0; i < layers; ++i) {
            auto pool = [&] {
                return Tensor::zeros({blocks, kv_heads, block_size, head_dim}, DataType::F32,
                                     device);
            };
            layers_.emplace_back(pool(), pool());
        }
    }

    Tensor attend(size_t layer, const Tensor &q, const Tensor &k, const Tensor &v,
                  const Batch &batch) override {
        auto &[keys, values] = layers_[layer];
        infinicore::op::paged_caching_(keys, values, k, v, batch.slots);
        Tensor out = Tensor::empty(q->shape(), q->dtype(), q->device());
        if (batch.is_decode)
            infinicore::op::paged_attention_(out, q, keys, values, batch.tables, batch.lengths,
                                             std::nullopt, scale(q));
        else
            infinicore::op::paged_attention_prefill_(out, q, keys, values, batch.tables,
                                                     batch.lengths, batch.starts, std::nullopt,
                                                     scale(q));
        return out;
    }
};

}  // namespace engine
