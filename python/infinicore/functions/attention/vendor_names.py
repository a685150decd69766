"""Paged attention on torch tensors, under the names used by code for two vendors."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions.declared.attention import paged_attention, paged_attention_prefill


def _borrowed(value: Any) -> Tensor:
    """The tensor itself, or one that shares the memory of a torch tensor."""
    if isinstance(value, _core.Tensor):
        return value
    return _core.from_dlpack(value)


def _pages(name: str, cache: Any, size: int, block_size: int) -> Tensor:
    """A cache as [pages, heads, rows, D]: given in this layout, as [pages, rows, heads, D], or with
    the heads and their elements merged."""
    given = _borrowed(cache)
    if given.ndim == 3:
        given = given.view(given.shape[0], given.shape[1], given.shape[2] // size, size)
    expect(
        given.ndim == 4 and block_size in tuple(given.shape[1:3]),
        name,
        "the cache's shape",
        tuple(given.shape),
        f"[pages, {block_size}, heads, {size}] or [pages, heads, {block_size}, {size}]",
    )
    return given.permute(0, 2, 1, 3) if given.shape[1] == block_size else given


def _returned(made: Tensor, like: Any) -> Any:
    if isinstance(like, _core.Tensor):
        return made.view(*like.shape)
    import torch

    _core.sync_stream()
    return torch.from_dlpack(made).view(like.shape)


def _decode(
    name: str,
    q: Any,
    k_cache: Any,
    v_cache: Any,
    tables: Any,
    lengths: Any,
    scale: float,
    block: int,
) -> Any:
    query = _borrowed(q)
    expect(query.ndim in (3, 4), name, "q.ndim", query.ndim, "3 or 4")
    rows = query.reshape(-1, *query.shape[-2:])
    keys, values = (_pages(name, cache, query.shape[-1], block) for cache in (k_cache, v_cache))
    made = paged_attention(
        rows, keys, values, _borrowed(tables), _borrowed(lengths).flatten(), None, scale
    )
    return _returned(made, q)


def _prefill(
    name: str,
    q: Any,
    k_cache: Any,
    v_cache: Any,
    bounds_q: Any,
    bounds_k: Any,
    tables: Any,
    scale: float,
    block: int,
    causal: bool,
) -> Any:
    if not causal:
        raise NotImplementedError(
            f"{name}: causal is False: attention to later tokens of a paged cache has no operator"
        )
    query = _borrowed(q)
    expect(query.ndim == 3, name, "q.ndim", query.ndim, "3")
    keys, values = (_pages(name, cache, query.shape[-1], block) for cache in (k_cache, v_cache))
    bounds = _borrowed(bounds_k)
    lengths = bounds[1:] - bounds[:-1]
    made = paged_attention_prefill(
        query, keys, values, _borrowed(tables), lengths, _borrowed(bounds_q), None, scale
    )
    return _returned(made, q)


_DECODE = """Attention of one query for each sequence to a paged cache, on torch tensors.

    q [S, Hq, D] (or [S, 1, Hq, D]), caches [pages, block_size, Hkv, D] or [pages, Hkv, block_size,
    D], block_tables [S, blocks], seq_lens [S]. The result has the shape of q. `max_seq_len` is not
    needed.

    >>> import torch
    >>> cache, q = torch.ones(1, 4, 1, 2), torch.ones(1, 1, 2)
    >>> table, length = torch.tensor([[0]]), torch.tensor([3])
    >>> infinicore.NAME(q, cache, cache, table, length, 1.0, 4, 3)
    tensor([[[1., 1.]]])
    """

_PREFILL = """Causal attention of the new tokens of sequences to a paged cache, on torch tensors.

    q [tokens, Hq, D] with bounds cu_seqlens_q [S + 1], keys counted by cu_seqlens_k [S + 1], caches
    and tables as for decoding. The result has the shape of q. The greatest lengths are not needed.

    >>> import torch
    >>> cache, q = torch.ones(1, 4, 1, 2), torch.ones(1, 1, 2)
    >>> table, bounds = torch.tensor([[0]]), torch.tensor([0, 1])
    >>> infinicore.NAME(q, cache, cache, bounds, bounds * 3, table, 1.0, 1, 3, 4)
    tensor([[[1., 1.]]])
    """


def _decoding(name: str) -> Any:
    def decode(
        q: Any,
        k_cache: Any,
        v_cache: Any,
        block_tables: Any,
        seq_lens: Any,
        scale: float,
        block_size: int,
        max_seq_len: int | None = None,
    ) -> Any:
        return _decode(name, q, k_cache, v_cache, block_tables, seq_lens, scale, block_size)

    return _named(decode, name, _DECODE)


def _prefilling(name: str) -> Any:
    def prefill(
        q: Any,
        k_cache: Any,
        v_cache: Any,
        cu_seqlens_q: Any,
        cu_seqlens_k: Any,
        block_tables: Any,
        scale: float,
        max_seqlen_q: int,
        max_seqlen_k: int,
        block_size: int,
        causal: bool = True,
    ) -> Any:
        return _prefill(
            name,
            q,
            k_cache,
            v_cache,
            cu_seqlens_q,
            cu_seqlens_k,
            block_tables,
            scale,
            block_size,
            causal,
        )

    return _named(prefill, name, _PREFILL)


def _named(made: Any, name: str, text: str) -> Any:
    made.__name__ = made.__qualname__ = name
    made.__doc__ = text.replace("NAME", name)
    return made


ascend_flash_attn_decode = _decoding("ascend_flash_attn_decode")

ascend_flash_attn_prefill = _prefilling("ascend_flash_attn_prefill")

moore_mate_flash_attn_decode = _decoding("moore_mate_flash_attn_decode")

moore_mate_flash_attn_prefill = _prefilling("moore_mate_flash_attn_prefill")
