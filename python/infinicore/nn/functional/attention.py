"""Attention."""

from __future__ import annotations

import math
from typing import Any

from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor

__all__ = ["flash_attention"]


@function
def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    total_kv_len: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """Attention of query [B, Hq, Lq, D] over the first total_kv_len[b] keys and values, which are
    [B, Hkv, Lk, D]; Hkv divides Hq. With `is_causal` the last query sees all of these keys, each
    query before it one key less. `scale` is 1 / sqrt(D) unless given.

    >>> q = k = v = infinicore.ones(1, 1, 1, 2)
    >>> F.flash_attention(q, k, v, infinicore.tensor([1], dtype=infinicore.int32))
    tensor([[[[1., 1.]]]])
    """
    if attn_mask is not None:
        raise ValueError("flash_attention: attn_mask is a tensor: expected None")
    if dropout_p:
        raise ValueError(f"flash_attention: dropout_p is {dropout_p}: expected 0")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    return emit(  # type: ignore[no-any-return]
        "flash_attention",
        query,
        key,
        value,
        total_kv_len,
        scale=factor,
        is_causal=is_causal,
        out=out,
    )
