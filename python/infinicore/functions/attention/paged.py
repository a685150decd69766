"""Attention to keys and values in pages."""

from __future__ import annotations

from infinicore._dtype import int32
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import integers, need_shape, need_tensor
from infinicore.functions._operands import counting

__all__ = ["mha_kvcache"]


@function
def _mha_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bounds_q: Tensor,
    bounds_k: Tensor | None,
    block_table: Tensor,
    alibi_slopes: Tensor | None,
    scale: float,
) -> Tensor:
    """mha_varlen with pages [pages, block_size, Hkv, D]."""
    name = "mha_varlen"
    for argument, value in (("k", k), ("v", v)):
        need_tensor(name, argument, value, 4)
    if bounds_k is None:
        raise TypeError(f"{name}: cum_seqlens_k is None: expected the lengths of the keys")
    bounds = integers(name, "cum_seqlens_k", bounds_k, int32)
    # Some callers pass lengths instead of cumulative sums.
    lengths = bounds if bounds.shape[0] == block_table.shape[0] else bounds[1:] - bounds[:-1]
    pages = (k.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3), block_table)
    return emit(  # type: ignore[no-any-return]
        "paged_attention_prefill", q, *pages, lengths, bounds_q, alibi_slopes, scale=scale
    )


@function
def mha_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    seqlens_k: Tensor,
    block_table: Tensor,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
) -> Tensor:
    """Causal attention of the last Lq tokens of each sequence, q [B, Lq, Hq, D], to pages [pages,
    block_size, Hkv, D]; seqlens_k [B] includes the new tokens, block_table is [B, blocks]. The
    result is [B, Lq, Hq, size of a value].

    >>> cache, q = infinicore.ones(1, 4, 1, 2), infinicore.ones(1, 1, 1, 2)
    >>> infinicore.mha_kvcache(q, cache, cache, infinicore.tensor([3]), infinicore.tensor([[0]]))
    tensor([[[[1., 1.]]]])
    """
    name = "mha_kvcache"
    for argument, value in (("q", q), ("k_cache", k_cache), ("v_cache", v_cache)):
        need_tensor(name, argument, value, 4)
    batch, count, heads, depth = q.shape
    need_shape(name, "seqlens_k", seqlens_k, batch)
    need_shape(name, "block_table", block_table, batch, None)
    rows = q.reshape(batch * count, heads, depth)
    bounds = counting(batch + 1, q, count, kind=int32)
    pages = (k_cache.permute(0, 2, 1, 3), v_cache.permute(0, 2, 1, 3), block_table)
    given = (rows, *pages, seqlens_k, bounds, alibi_slopes)
    made: Tensor = emit("paged_attention_prefill", *given, scale=scale)
    return made.view(batch, count, heads, v_cache.shape[3])
