"""Functions that write to their first arguments, with the names and argument order of the compiled
module that older programs use."""

from __future__ import annotations

from infinicore._emit import emit
from infinicore._tensor import Tensor


def moe_topk_softmax_(
    topk_weights: Tensor,
    topk_indices: Tensor,
    gating_output: Tensor,
    correction_bias: Tensor | None = None,
    renormalize: bool = False,
    moe_softcapping: float = 0.0,
) -> None:
    """Writes the largest probabilities of each row of scores [tokens, experts] to topk_weights
    [tokens, topk] of float32 and topk_indices of int32; the bias affects only the choice."""
    emit(
        "moe_topk_softmax",
        gating_output,
        correction_bias,
        renormalize=renormalize,
        moe_softcapping=moe_softcapping,
        out=(topk_weights, topk_indices),
    )


def fp8_mla_rmsnorm_cache_(
    cache: Tensor,
    compressed_kv: Tensor,
    norm_weight: Tensor,
    rope: Tensor,
    slot_mapping: Tensor,
    eps: float,
) -> None:
    """Writes latents [tokens, 512], normalised and in float8, and their rotary keys [tokens, 64] to
    slots of a cache [pages, block_size, 656] of bytes."""
    emit("fp8_mla_rmsnorm_cache", cache, compressed_kv, norm_weight, rope, slot_mapping, eps=eps)


def fp8_mla_rmsnorm_dual_cache_(
    cache: Tensor,
    vendor_cache: Tensor,
    compressed_kv: Tensor,
    norm_weight: Tensor,
    rope: Tensor,
    slot_mapping: Tensor,
    eps: float,
) -> None:
    """Like fp8_mla_rmsnorm_cache_, and writes the dequantized values to vendor_cache [pages,
    block_size, 576] of bfloat16."""
    emit(
        "fp8_mla_rmsnorm_cache",
        cache,
        compressed_kv,
        norm_weight,
        rope,
        slot_mapping,
        vendor_cache,
        eps=eps,
    )


def fp8_indexer_quant_(q_fp8: Tensor, weights_fp32: Tensor, q: Tensor, weights: Tensor) -> None:
    """Writes queries [tokens, heads, size] in float8 to q_fp8; their scales, multiplied by the
    weights [tokens, heads], to weights_fp32."""
    emit("fp8_indexer_quant", q, weights, out=(q_fp8, weights_fp32))


def fused_fp8_indexer_(
    q_fp8: Tensor,
    weights_fp32: Tensor,
    k_cache: Tensor,
    q_raw: Tensor,
    k_weights: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    positions: Tensor,
    cos_sin_cache: Tensor,
    slot_mapping: Tensor,
    rope_dim: int,
    eps: float,
    weights_scale: float,
) -> None:
    """Prepares new tokens for the indexer: writes rotated queries in float8 to q_fp8, weights with
    their scales to weights_fp32, and normalised and rotated keys to slots of k_cache."""
    emit(
        "fused_fp8_indexer",
        k_cache,
        q_raw,
        k_weights,
        norm_weight,
        norm_bias,
        positions,
        cos_sin_cache,
        slot_mapping,
        rope_dim=rope_dim,
        eps=eps,
        weights_scale=weights_scale,
        out=(q_fp8, weights_fp32),
    )


def fp8_indexer_logits_(
    logits: Tensor,
    q_fp8: Tensor,
    kv_cache: Tensor,
    block_tables: Tensor,
    weights_fp32: Tensor,
    positions: Tensor,
    request_ids: Tensor,
) -> None:
    """Writes the indexer's scores of all keys up to each token's position to logits [tokens, keys];
    -inf where there is no such key."""
    inputs = (q_fp8, kv_cache, block_tables, weights_fp32, positions, request_ids)
    emit("fp8_indexer_logits", *inputs, out=logits)


def fp8_sparse_mla_(
    output: Tensor,
    query: Tensor,
    kv_cache: Tensor,
    indices: Tensor,
    topk_lens: Tensor,
    scale: float,
) -> None:
    """Attention of queries [tokens, heads, 576] over the entries of a float8 cache given by the
    first topk_lens indices of each token, written to output [tokens, heads, 512]."""
    emit("fp8_sparse_mla", query, kv_cache, indices, topk_lens, scale=scale, out=output)


def select_last_token_hidden_(output: Tensor, hidden_states: Tensor, input_offsets: Tensor) -> None:
    """Copies the last token of each request to output [1, requests, size]; input_offsets [requests
    + 1] divides hidden_states [1, tokens, size] into requests.

    >>> out, offsets = infinicore.zeros(1, 1, 2), infinicore.tensor([0, 3], dtype=infinicore.int32)
    >>> infinicore.select_last_token_hidden_(out, infinicore.ones(1, 3, 2), offsets)
    >>> out
    tensor([[[1., 1.]]])
    """
    emit("select_last_token_hidden", hidden_states, input_offsets, out=output)
