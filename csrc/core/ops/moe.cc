// Mixtures of experts: gates with results of given sizes, and experts whose weights are separate
// tensors.
#include <map>

#include "../layout.h"
#include "../recorder.h"
#include "../step.h"
#include "infinicore/ops/deepseek_moe.hpp"
#include "infinicore/ops/moe_fused_gate.hpp"
#include "infinicore/ops/moe_topk_sigmoid.hpp"
#include "infinicore/ops/moe_topk_softmax.hpp"
#include "infinicore/ops/moe_topk_vendor.hpp"
#include "infinicore/ops/prepare_moe_input.hpp"
#include "steps.h"

namespace infinicore::op {

using namespace detail;

namespace {

using Chosen = std::tuple<Tensor, Tensor>;

// Weights and indices of the experts of each token.
Chosen room_for_choice(const char *function, const Tensor &scores, size_t topk) {
    need_rank(function, "the scores", scores, 2);
    const Shape shape{scores->shape()[0], topk};
    return {empty_like(scores, shape, DataType::F32), empty_like(scores, shape, DataType::I32)};
}

// The addresses of tensors, where the device can read them.
Tensor addresses_of(const std::string &argument, const std::vector<Tensor> &weights,
                    const Shape &expected, size_t count, const Tensor &hidden) {
    if (weights.size() != count)
        fail("deepseek_moe_", argument + " has " + std::to_string(weights.size()) +
                                  " tensors: expected " + std::to_string(count));
    std::vector<int64_t> addresses;
    for (const Tensor &weight : weights) {
        const std::string name = argument + "[" + std::to_string(addresses.size()) + "]";
        if (!weight || weight->shape() != expected || !weight->is_contiguous() ||
            weight->dtype() != hidden->dtype() || weight->device() != hidden->device())
            fail("deepseek_moe_", name + " is " + (weight ? weight->info() : "empty") +
                                      ": expected " + text_of(expected) + " " +
                                      toString(hidden->dtype()) + " without gaps on " +
                                      hidden->device().toString());
        addresses.push_back(int64_t(reinterpret_cast<intptr_t>(weight->data())));
    }
    // The addresses of weights do not change, so a thread makes each table once, outside of
    // recordings.
    static thread_local std::map<std::pair<size_t, std::vector<int64_t>>, Tensor> tables;
    const Device device = hidden->device();
    const auto key = std::pair(std::hash<Device>()(device), addresses);
    if (const auto known = tables.find(key); known != tables.end()) return known->second;
    PausedRecording paused;
    const Shape shape{addresses.size()};
    Tensor made = Tensor::empty(shape, DataType::I64, device);
    made->copy_from(Tensor::from_blob(addresses.data(), shape, DataType::I64, Device::cpu()));
    DeviceRuntime &runtime = runtime_of(device);
    RuntimeScope scope(runtime);
    check(infinirtStreamSynchronize(stream_of(runtime)), "deepseek_moe");
    constexpr size_t kMostTables = 1024;
    if (tables.size() >= kMostTables) tables.clear();
    return tables[key] = made;
}

// Choice k of token t is number k * tokens + t.
void number_pairs(const char *function, const Tensor &numbers, const Tensor &ids) {
    const Size tokens = ids->shape()[0], topk = ids->shape()[1];
    const Tensor rows = count_from(ids, tokens, DataType::I64, 0, 1)->view({tokens, 1});
    store(function, "token_expert_indices", numbers,
          make("add", {rows, count_from(ids, topk, DataType::I64, 0, double(tokens))}));
}

}  // namespace

Chosen moe_topk_softmax(const Tensor &gating_output, size_t topk, bool renormalize,
                        float moe_softcapping, const Tensor &correction_bias) {
    INFINI_NEED_TENSORS(gating_output);
    auto [weights, indices] = room_for_choice("moe_topk_softmax", gating_output, topk);
    moe_topk_softmax_(weights, indices, gating_output, correction_bias, renormalize,
                      moe_softcapping);
    return {weights, indices};
}

Chosen moe_topk_sigmoid(const Tensor &gating_output, size_t topk, bool renormalize,
                        const Tensor &correction_bias) {
    INFINI_NEED_TENSORS(gating_output);
    auto [weights, indices] = room_for_choice("moe_topk_sigmoid", gating_output, topk);
    moe_topk_sigmoid_(weights, indices, gating_output, correction_bias, renormalize);
    return {weights, indices};
}

Chosen moe_fused_gate(const Tensor &input, const Tensor &bias, size_t topk, size_t num_expert_group,
                      size_t topk_group, size_t num_fused_shared_experts,
                      float routed_scaling_factor, bool apply_routed_scaling_factor_on_output) {
    INFINI_NEED_TENSORS(input);
    auto [weights, indices] = room_for_choice("moe_fused_gate", input, topk);
    moe_fused_gate_(weights, indices, input, bias, num_expert_group, topk_group,
                    num_fused_shared_experts, routed_scaling_factor,
                    apply_routed_scaling_factor_on_output);
    return {weights, indices};
}

void moe_topk_softmax_vendor_(Tensor topk_weights, Tensor topk_ids, Tensor token_expert_indices,
                              const Tensor &gating_output, bool renormalize,
                              const Tensor &correction_bias) {
    INFINI_NEED_TENSORS(topk_weights, topk_ids, token_expert_indices, gating_output);
    need_rank("moe_topk_softmax_vendor_", "topk_ids", topk_ids, 2);
    auto [weights, ids] =
        moe_topk_softmax(gating_output, topk_ids->shape()[1], renormalize, 0.0f, correction_bias);
    store("moe_topk_softmax_vendor_", "topk_weights", topk_weights, weights);
    store("moe_topk_softmax_vendor_", "topk_ids", topk_ids, ids);
    number_pairs("moe_topk_softmax_vendor_", token_expert_indices, ids);
}

void moe_topk_sigmoid_vendor_(Tensor topk_weights, Tensor topk_ids, Tensor token_expert_indices,
                              const Tensor &gating_output, bool renormalize,
                              const Tensor &correction_bias) {
    INFINI_NEED_TENSORS(topk_weights, topk_ids, token_expert_indices, gating_output);
    need_rank("moe_topk_sigmoid_vendor_", "topk_ids", topk_ids, 2);
    auto [weights, ids] =
        moe_topk_sigmoid(gating_output, topk_ids->shape()[1], renormalize, correction_bias);
    store("moe_topk_sigmoid_vendor_", "topk_weights", topk_weights, weights);
    store("moe_topk_sigmoid_vendor_", "topk_ids", topk_ids, ids);
    number_pairs("moe_topk_sigmoid_vendor_", token_expert_indices, ids);
}

PrepareMoeInputOutput prepare_moe_input(const Tensor &topk_ids, size_t num_experts, size_t n,
                                        size_t k) {
    INFINI_NEED_TENSORS(topk_ids);
    const auto room = [&](Shape shape) {
        return empty_like(topk_ids, std::move(shape), DataType::I32);
    };
    PrepareMoeInputOutput made{room({num_experts + 1}), room({num_experts, 3}),
                               room({num_experts, 3}), room({topk_ids->numel()}),
                               room({topk_ids->numel()})};
    prepare_moe_input_(made.expert_offsets, Tensor(), made.problem_sizes1, made.problem_sizes2,
                       made.input_permutation, made.output_permutation, topk_ids, num_experts, n,
                       k);
    return made;
}

void deepseek_moe_(Tensor out, const Tensor &hidden, const Tensor &topk_indices,
                   const Tensor &topk_weights, const std::vector<Tensor> &gate_weights,
                   const std::vector<Tensor> &up_weights, const std::vector<Tensor> &down_weights,
                   size_t intermediate_size, size_t num_experts) {
    INFINI_NEED_TENSORS(out, hidden, topk_indices, topk_weights);
    need_rank("deepseek_moe_", "hidden", hidden, 2);
    const Size width = hidden->shape()[1];
    const Shape inward{intermediate_size, width}, outward{width, intermediate_size};
    const Tensor gate = addresses_of("gate_weights", gate_weights, inward, num_experts, hidden);
    const Tensor up = addresses_of("up_weights", up_weights, inward, num_experts, hidden);
    const Tensor down = addresses_of("down_weights", down_weights, outward, num_experts, hidden);
    const Row *row = find_row("deepseek_moe");
    const Given tensors[] = {out, hidden, topk_indices, topk_weights}, bare[] = {gate, up, down};
    const GivenValue attributes[] = {integer(int64_t(intermediate_size)),
                                     integer(int64_t(num_experts))};
    call(int(row - kRows), 1, tensors, attributes, nullptr, bare);
    if (Recorder *recorder = recorded_graph())
        for (const auto *weights : {&gate_weights, &up_weights, &down_weights})
            for (const Tensor &weight : *weights) recorder->kept.push_back(weight->memory());
}

Tensor deepseek_moe(const Tensor &hidden, const Tensor &topk_indices, const Tensor &topk_weights,
                    const std::vector<Tensor> &gate_weights, const std::vector<Tensor> &up_weights,
                    const std::vector<Tensor> &down_weights, size_t intermediate_size,
                    size_t num_experts) {
    INFINI_NEED_TENSORS(hidden, topk_indices, topk_weights);
    Tensor out = empty_like(hidden, hidden->shape());
    deepseek_moe_(out, hidden, topk_indices, topk_weights, gate_weights, up_weights, down_weights,
                  intermediate_size, num_experts);
    return out;
}

}  // namespace infinicore::op
