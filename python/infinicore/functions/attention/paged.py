"""Attention to keys and values in pages."""

from __future__ import annotations

from infinicore._dtype import float32, int32
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_shape, need_tensor
from infinicore.functions._operands import counting, with_rows

__all__ = ["mha_kvcache", "paged_attention", "paged_attention_prefill", "paged_attention_varlen"]


def _check(name: str, q: Tensor, k_cache: Tensor, v_cache: Tensor, tables: Tensor) -> None:
    """Of caches [pages, Hkv, block_size, D]."""
    need_tensor(name, "q", q, 3)
    need_tensor(name, "k_cache", k_cache, 4)
    need_shape(name, "v_cache", v_cache, *k_cache.shape[:3], None)
    fits = q.shape[2] == k_cache.shape[3]
    expect_shape(fits, name, "k_cache", k_cache, f"[pages, heads, rows, {q.shape[2]}]")
    expect(
        k_cache.shape[1] > 0 and q.shape[1] % k_cache.shape[1] == 0,
        name,
        "the number of query heads",
        q.shape[1],
        f"a multiple of the {k_cache.shape[1]} key heads",
    )
    need_tensor(name, "block_tables", tables, 2)


def _slopes(name: str, slopes: Tensor | None, heads: int) -> Tensor | None:
    if slopes is not None:
        need_shape(name, "alibi_slopes", slopes, heads)
        slopes = cast_to(slopes, float32)
    return slopes


@function
def paged_attention(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    cache_lens: Tensor,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
) -> Tensor:
    """Attention of one query for each sequence, q [S, Hq, D], to the first cache_lens[s] keys of
    its pages: caches [pages, Hkv, block_size, D], block_tables [S, blocks]. The lengths count the
    new token. The result is [S, Hq, size of a value].

    >>> cache, q = infinicore.ones(1, 1, 4, 2), infinicore.ones(1, 1, 2)
    >>> table, length = infinicore.tensor([[0]]), infinicore.tensor([3])
    >>> infinicore.paged_attention(q, cache, cache, table, length)
    tensor([[[1., 1.]]])
    """
    name = "paged_attention"
    _check(name, q, k_cache, v_cache, block_tables)
    need_shape(name, "cache_lens", cache_lens, q.shape[0])
    return emit(  # type: ignore[no-any-return]
        "paged_attention",
        with_rows(q),
        with_rows(k_cache),
        with_rows(v_cache),
        integers(name, "block_tables", block_tables, int32),
        integers(name, "cache_lens", cache_lens, int32),
        _slopes(name, alibi_slopes, q.shape[1]),
        scale=scale,
    )


@function
def paged_attention_prefill(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    history_lens: Tensor,
    cu_seqlens_q: Tensor,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
) -> Tensor:
    """Causal attention of the new tokens of sequences to pages that hold their keys already. The
    rows of sequence s in q [tokens, Hq, D] are cu_seqlens_q[s] up to cu_seqlens_q[s + 1];
    `history_lens` [S] count all its keys, the new ones among them. Caches are [pages, Hkv,
    block_size, D], block_tables [S, blocks]; the result is [tokens, Hq, size of a value].

    >>> cache, q = infinicore.ones(1, 1, 4, 2), infinicore.ones(1, 1, 2)
    >>> table, length = infinicore.tensor([[0]]), infinicore.tensor([3])
    >>> bounds = infinicore.tensor([0, 1])
    >>> infinicore.paged_attention_prefill(q, cache, cache, table, length, bounds)
    tensor([[[1., 1.]]])
    """
    return _prefill(
        "paged_attention_prefill",
        q,
        k_cache,
        v_cache,
        block_tables,
        history_lens,
        cu_seqlens_q,
        alibi_slopes,
        scale,
    )


@function
def paged_attention_varlen(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    block_tables: Tensor,
    cache_lens: Tensor,
    cu_seqlens_q: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
    window: int = 0,
    softcap: float = 0.0,
) -> Tensor:
    """Causal attention of the new tokens of sequences, some of which prefill a chunk while others
    decode one token, to pages that hold their keys already.

    The rows of sequence s in q [tokens, Hq, D] are cu_seqlens_q[s] up to cu_seqlens_q[s + 1];
    without `cu_seqlens_q` each sequence has one. `cache_lens` [S] count all its keys, the new ones
    among them. Caches are [pages, Hkv, block_size, D], block_tables [S, blocks]; the result is
    [tokens, Hq, size of a value].

    With a `window` a token sees itself and the window - 1 tokens before it (0: all of them). With a
    `softcap` scores s become softcap * tanh(s / softcap).

    >>> cache, q = infinicore.ones(1, 1, 4, 2), infinicore.ones(1, 1, 2)
    >>> table, length = infinicore.tensor([[0]]), infinicore.tensor([3])
    >>> infinicore.paged_attention_varlen(q, cache, cache, table, length, window=2, softcap=30.0)
    tensor([[[1., 1.]]])
    """
    name = "paged_attention_varlen"
    _check(name, q, k_cache, v_cache, block_tables)
    sequences = block_tables.shape[0]
    need_shape(name, "cache_lens", cache_lens, sequences)
    if cu_seqlens_q is None:
        need_shape(name, "block_tables", block_tables, q.shape[0], None)
    else:
        need_shape(name, "cu_seqlens_q", cu_seqlens_q, sequences + 1)
        cu_seqlens_q = integers(name, "cu_seqlens_q", cu_seqlens_q, int32)
    expect(window >= 0, name, "window", window, "a number of keys, or 0 for all")
    expect(softcap >= 0, name, "softcap", softcap, "a positive number, or 0 for none")
    return emit(  # type: ignore[no-any-return]
        "paged_attention_varlen",
        with_rows(q),
        with_rows(k_cache),
        with_rows(v_cache),
        integers(name, "block_tables", block_tables, int32),
        integers(name, "cache_lens", cache_lens, int32),
        cu_seqlens_q,
        _slopes(name, alibi_slopes, q.shape[1]),
        scale=scale,
        window=window,
        softcap=softcap,
    )


def _prefill(
    name: str,
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    tables: Tensor,
    lengths: Tensor,
    bounds: Tensor,
    slopes: Tensor | None,
    scale: float,
) -> Tensor:
    _check(name, q, k_cache, v_cache, tables)
    sequences = tables.shape[0]
    need_shape(name, "the lengths of keys", lengths, sequences)
    need_shape(name, "the bounds of queries", bounds, sequences + 1)
    return emit(  # type: ignore[no-any-return]
        "paged_attention_prefill",
        with_rows(q),
        with_rows(k_cache),
        with_rows(v_cache),
        integers(name, "block_tables", tables, int32),
        integers(name, "the lengths of keys", lengths, int32),
        integers(name, "the bounds of queries", bounds, int32),
        _slopes(name, slopes, q.shape[1]),
        scale=scale,
    )


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
    # Some callers give lengths in place of their sums.
    lengths = bounds if bounds.shape[0] == block_table.shape[0] else bounds[1:] - bounds[:-1]
    keys, values = k.permute(0, 2, 1, 3), v.permute(0, 2, 1, 3)
    return _prefill(name, q, keys, values, block_table, lengths, bounds_q, alibi_slopes, scale)


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
    block_size, Hkv, D]; seqlens_k [B] count the new tokens, block_table is [B, blocks]. The result
    is [B, Lq, Hq, size of a value].

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
    keys, values = k_cache.permute(0, 2, 1, 3), v_cache.permute(0, 2, 1, 3)
    made = _prefill(name, rows, keys, values, block_table, seqlens_k, bounds, alibi_slopes, scale)
    return made.view(batch, count, heads, v_cache.shape[3])
