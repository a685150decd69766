"""The operators of functions of infinicore::op whose names differ."""

from __future__ import annotations

# Functions whose operator has another name.
OPERATORS: dict[str, str] = {
    "conv2d": "conv",
    "gelu_tanh": "gelutanh",
    "quick_gelu": "quickgelu",
    "per_channel_quant_i8": "per_channel_quant_int8",
    "per_tensor_dequant_i8": "per_tensor_dequant_int8",
    "per_tensor_quant_i8": "per_tensor_quant_int8",
    "scaled_mm_i8": "int8_gemm",
    "add_rms_norm_inplace": "add_rms_norm",
    "layer_norm_for_pybind": "layer_norm",
    "moe_align_with_expert_map": "moe_align",
    "fp8_mla_rmsnorm_dual_cache": "fp8_mla_rmsnorm_cache",
    "scaled_mm_w4a16_gptq_qy": "gptq_qyblas_gemm",
    "linear_w4a16_gptq_qy": "gptq_qyblas_gemm",
}

# "function.tensor of the operator" -> the argument, where neither names nor order match.
TENSORS: dict[str, str] = {
    "add_rms_norm_inplace.y": "input",
    "add_rms_norm_inplace.residual_out": "residual",
    "add_rms_norm_inplace.a": "input",
    "add_rms_norm_inplace.b": "residual",
    "layer_norm_.input_standardization": "standardization",
    "layer_norm_.input_std_deviation": "std_deviation",
    "linear_w4a16_gptq_qy.b_scales": "scales",
    "linear_w4a16_gptq_qy.b_zeros": "qzeros",
}

# "function.attribute" or "function.scalar" -> the C++ expression.
VALUES: dict[str, str] = {
    "avg_pool1d.stride": "stride ? stride : kernel_size",
    "avg_pool1d_.stride": "stride ? stride : kernel_size",
    "AvgPool1d::execute.stride": "stride ? stride : kernel_size",
}

# Written in csrc/core/ops: several operators behind one function, or results of given shapes.
_BY_HAND = """
AllGatherV::execute Argwhere::execute Conv2d::execute MaskedSelect::execute
ReduceScatterV::execute adaptive_avg_pool1d adaptive_avg_pool3d_ affine_grid allgather allgather_
allgatherv allgatherv_ allgatherv_many allgatherv_many_ allreduce allreduce_ argwhere baddbmm
baddbmm_ bilinear bilinear_ bmm_strided_ broadcast broadcast_ broadcast_to cat cat_ causal_conv1d
chunk_gated_delta_rule concat_mla_q concat_mla_q_ deepseek_moe deepseek_moe_
dynamic_scaled_int8_quant dynamic_scaled_int8_quant_ gptq_marlin_gemm_with_workspace_
gptq_marlin_gemm_with_workspace_direct_ gptq_marlin_gemm_workspace_size kimi_delta_attention
linear linear_ linear_allreduce linear_allreduce_ linear_allreduce_packed linear_allreduce_packed_
linear_packed linear_packed_ linear_w4a16_awq linear_w4a16_awq_ linear_w8a8i8 linear_w8a8i8_
masked_select matmul matmul_ mha mha_ mha_kvcache mha_kvcache_ mha_varlen mha_varlen_
moe_fused_gate moe_topk_sigmoid moe_topk_sigmoid_vendor_ moe_topk_softmax moe_topk_softmax_vendor_
mxfp4_dequantize ones_ prepare_moe_input random_sample recurrent_gated_delta_rule
recurrent_gated_delta_rule_indexed recv recv_ reduce_scatter reduce_scatter_ reduce_scatterv
reduce_scatterv_ reduce_scatterv_many reduce_scatterv_many_ scaled_mm_w8a8 scaled_mm_w8a8_ send
situ_and_mul situ_and_mul_ upsample_bilinear upsample_nearest vocab_parallel_embedding_ zeros_
"""
BY_HAND = frozenset(_BY_HAND.split())

# Declared, but refused with this reason. They are one vendor's kernels, enabled by its own build
# option.
_VENDOR = """
concat_and_cache_mla_ concat_and_cache_mla_int8_ fused_deepseek_v2_indexer_postprocess_
indexer_k_cache_ indexer_k_quant_and_cache_ compute_block_sparse_mqa_logits_
select_prefill_topk_block_indices_ select_decode_topk_block_indices_
map_prefill_request_block_indices_ map_decode_request_block_indices_ topk_indices_context_lens_
sparse_flash_mla_ fused_rotary_embedding_ grouped_topk_vendor_ moe_argsort_bincount_with_inv_pos_
moe_expand_input_with_inv_pos_ moe_silu_and_mul_quant_ moe_sum_vendor_ paged_attention_mla_
scaled_mm_w4a8_ scaled_mm_w4a8 w16a16_group_gemm_ w4a8_group_gemm_ w8a8_group_gemm_
"""
REFUSED = dict.fromkeys(
    _VENDOR.split(), "no device here has this vendor's kernel: infinicore's Python function does it"
)

# Operators whose scalars differ from call to call.
VARIED = frozenset({"random_sample"})
