// Recurrences that return only their results: a final state without a pool is dropped.
#include "infinicore/ops/causal_conv1d.hpp"
#include "infinicore/ops/chunk_gated_delta_rule.hpp"
#include "infinicore/ops/kimi_delta_attention.hpp"
#include "infinicore/ops/random_sample.hpp"
#include "infinicore/ops/recurrent_gated_delta_rule.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

// Memory for the state of each sequence, unless the states are written to their pool.
std::optional<Tensor> final_state_for(const Tensor &state, const Tensor &sequences,
                                      const std::optional<Tensor> &bounds,
                                      const std::optional<Tensor> &places) {
    if (places && *places) return std::nullopt;
    Shape shape = state->shape();
    if (!shape.empty())
        shape[0] = bounds && *bounds ? (*bounds)->numel() - 1 : sequences->shape().at(0);
    return empty_like(state, std::move(shape));
}

// Queries, keys and values of a single token may omit the time dimension.
Tensor with_time(const Tensor &tensor) {
    return tensor->ndim() == 3 ? tensor->unsqueeze(1) : tensor;
}

}  // namespace

Tensor causal_conv1d(const Tensor &qkv, Tensor conv_state, const Tensor &weight,
                     std::optional<Tensor> bias, std::optional<Tensor> cu_seqlens,
                     std::optional<Tensor> initial_state_indices,
                     std::optional<Tensor> final_state_indices) {
    INFINI_NEED_TENSORS(qkv, conv_state, weight);
    Tensor out = empty_like(qkv, qkv->shape());
    causal_conv1d_(out, conv_state,
                   final_state_for(conv_state, qkv, cu_seqlens, final_state_indices), qkv, weight,
                   bias, cu_seqlens, initial_state_indices, final_state_indices);
    return out;
}

Tensor chunk_gated_delta_rule(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &g,
                              const Tensor &beta, Tensor initial_state,
                              std::optional<Tensor> cu_seqlens,
                              std::optional<Tensor> initial_state_indices,
                              std::optional<Tensor> final_state_indices, bool use_qk_l2norm,
                              size_t chunk_size) {
    INFINI_NEED_TENSORS(q, k, v, g, beta, initial_state);
    Tensor out = empty_like(v, v->shape());
    chunk_gated_delta_rule_(out, initial_state,
                            final_state_for(initial_state, q, cu_seqlens, final_state_indices), q,
                            k, v, g, beta, cu_seqlens, initial_state_indices, final_state_indices,
                            use_qk_l2norm, chunk_size);
    return out;
}

Tensor kimi_delta_attention(const Tensor &q, const Tensor &k, const Tensor &v, const Tensor &g,
                            const Tensor &beta, const Tensor &A_log, const Tensor &dt_bias,
                            Tensor initial_state, std::optional<Tensor> cu_seqlens,
                            std::optional<Tensor> initial_state_indices,
                            std::optional<Tensor> final_state_indices, float scale,
                            float lower_bound, bool use_qk_l2norm) {
    INFINI_NEED_TENSORS(q, k, v, g, beta, A_log, dt_bias, initial_state);
    Tensor out = empty_like(v, v->shape());
    kimi_delta_attention_(out, initial_state,
                          final_state_for(initial_state, q, cu_seqlens, final_state_indices), q, k,
                          v, g, beta, A_log, dt_bias, cu_seqlens, initial_state_indices,
                          final_state_indices, scale, lower_bound, use_qk_l2norm);
    return out;
}

Tensor recurrent_gated_delta_rule(const Tensor &q, const Tensor &k, const Tensor &v,
                                  const Tensor &g, const Tensor &beta, const Tensor &initial_state,
                                  bool use_qk_l2norm) {
    INFINI_NEED_TENSORS(q, k, v, g, beta, initial_state);
    const Tensor values = with_time(v);
    Tensor out = empty_like(v, values->shape());
    recurrent_gated_delta_rule_(
        out, initial_state, final_state_for(initial_state, q, std::nullopt, std::nullopt),
        with_time(q), with_time(k), values, g, beta, std::nullopt, std::nullopt, use_qk_l2norm);
    return out;
}

Tensor recurrent_gated_delta_rule_indexed(const Tensor &q, const Tensor &k, const Tensor &v,
                                          const Tensor &g, const Tensor &beta, Tensor initial_state,
                                          const Tensor &initial_state_indices,
                                          const Tensor &final_state_indices, bool use_qk_l2norm) {
    INFINI_NEED_TENSORS(q, k, v, g, beta, initial_state, initial_state_indices,
                        final_state_indices);
    const Tensor values = with_time(v);
    Tensor out = empty_like(v, values->shape());
    recurrent_gated_delta_rule_(out, initial_state, std::nullopt, with_time(q), with_time(k),
                                values, g, beta, initial_state_indices, final_state_indices,
                                use_qk_l2norm);
    return out;
}

Tensor random_sample(Tensor logits, float random_val, float topp, int topk, float temperature) {
    INFINI_NEED_TENSORS(logits);
    Tensor indices = empty_like(logits, {}, DataType::I32);
    random_sample_(indices, logits, random_val, topp, topk, temperature);
    return indices;
}

}  // namespace infinicore::op
