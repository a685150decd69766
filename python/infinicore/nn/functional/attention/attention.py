"""Attention."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import bool_, int32
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions._operands import counting, wide_floats
from infinicore.nn.functional.matmul.linear import _matrix_product
from infinicore.nn.functional.random.dropout import dropout
from infinicore.op._shapes import broadcast


@function
def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    total_kv_len: Tensor | None,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    out: Any = None,
) -> Tensor:
    """Attention of query [B, Hq, Lq, D] over the first total_kv_len[b] keys and values [B, Hkv, Lk,
    D], or over all of them; Hkv divides Hq. With `is_causal` the last query sees all of these keys,
    each query before it one key less. `scale` is 1 / sqrt(D) unless given.

    >>> q = k = v = infinicore.ones(1, 1, 1, 2)
    >>> F.flash_attention(q, k, v, infinicore.tensor([1], dtype=infinicore.int32))
    tensor([[[[1., 1.]]]])
    """
    name = "flash_attention"
    if attn_mask is not None:
        raise ValueError(f"{name}: attn_mask is a tensor: expected None")
    expect(not dropout_p, name, "dropout_p", dropout_p, "0")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    lengths = None if total_kv_len is None else cast_to(total_kv_len, int32)
    return emit(
        "flash_attention", query, key, value, lengths, scale=factor, is_causal=is_causal, out=out
    )


@function
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(query @ key.T * scale + mask) @ value: query [..., H, L, E], key [..., H, S, E],
    value [..., H, S, Ev]. A boolean mask selects the keys that are attended to; other masks are
    added to the scores. With `is_causal` query i sees the keys up to i. With `enable_gqa` several
    heads of query share one of key and value. `scale` is 1 / sqrt(E) unless given.

    >>> q = k = v = infinicore.ones(1, 1, 1, 2)
    >>> F.scaled_dot_product_attention(q, k, v)
    tensor([[[[1., 1.]]]])
    """
    name = "scaled_dot_product_attention"
    for argument, tensor in (("query", query), ("key", key), ("value", value)):
        expect(tensor.ndim >= 2, name, f"{argument}.ndim", tensor.ndim, "2 or more")
    fits = key.shape[-1] == query.shape[-1]
    expect(fits, name, "the last size of key", key.shape[-1], f"that of query, {query.shape[-1]}")
    fits = key.shape[-2] == value.shape[-2]
    expect(fits, name, "the number of values", value.shape[-2], f"that of keys, {key.shape[-2]}")
    expect(0 <= dropout_p <= 1, name, "dropout_p", dropout_p, "a number from 0 to 1")
    if is_causal and attn_mask is not None:
        raise ValueError(f"{name}: attn_mask is a tensor: expected None with is_causal")
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else float(scale)
    length = query.shape[-2]
    if is_causal and length < key.shape[-2]:  # no query sees the others
        key, value = key.narrow(-2, 0, length), value.narrow(-2, 0, length)
    keys = key.shape[-2]
    if _is_flash(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa):
        return emit("flash_attention", query, key, value, scale=factor, is_causal=is_causal)
    if enable_gqa and query.ndim >= 3:
        key, value = _shared(name, query, key), _shared(name, query, value)
    lead = _lead(name, query, key, value)
    q, k = (_folded(wide_floats(x), lead) for x in (query, key))
    scores = _matrix_product(q, k.transpose(1, 2), factor).view(*lead, length, keys)
    if is_causal:
        seen = emit("less_equal", counting(keys, query), counting(length, query).unsqueeze(1))
        scores = emit("where", seen, scores, -math.inf)
    if attn_mask is not None:
        if attn_mask.dtype is bool_:
            scores = emit("where", attn_mask, scores, -math.inf)
        else:
            scores = emit("add", scores, wide_floats(attn_mask))
    shares = emit("softmax", scores, axis=scores.ndim - 1)
    # Queries without visible keys give zeros.
    shares = emit("where", emit("isnan", shares), 0.0, shares) if _can_hide(attn_mask) else shares
    if dropout_p:
        shares = dropout(shares, dropout_p)
    lead = list(shares.shape[:-2])
    made = _matrix_product(_folded(shares, lead), _folded(wide_floats(value), lead))
    return cast_to(made.view(*lead, length, value.shape[-1]), query.dtype)


def _can_hide(mask: Tensor | None) -> bool:
    return mask is not None and mask.dtype is bool_


def _is_flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Any,
    dropout_p: float,
    is_causal: bool,
    enable_gqa: bool,
) -> bool:
    """Whether the operator computes exactly this; its causal mask is aligned to the last key
    instead."""
    return (
        mask is None
        and not dropout_p
        and query.ndim == key.ndim == value.ndim == 4
        and query.dtype is key.dtype is value.dtype
        and query.dtype._code in ("F16", "BF16", "F32")
        and query.shape[-1] == value.shape[-1]
        and query.shape[-1] <= 256
        and query.shape[0] == key.shape[0]
        and key.shape[:2] == value.shape[:2]
        and query.shape[1] % max(1, key.shape[1]) == 0
        and (enable_gqa or query.shape[1] == key.shape[1])
        and (not is_causal or query.shape[2] == key.shape[2])
        and query.numel() > 0
        and key.numel() > 0
    )


def _shared(name: str, query: Tensor, key: Tensor) -> Tensor:
    """Repeats each key head for the query heads that share it."""
    heads, groups = query.shape[-3], key.shape[-3]
    expect(
        groups > 0 and heads % groups == 0, name, "heads of key", groups, f"a divisor of {heads}"
    )
    if heads == groups:
        return key
    shape = [*key.shape[:-2], heads // groups, *key.shape[-2:]]
    return key.unsqueeze(-3).expand(*shape).reshape(*key.shape[:-3], heads, *key.shape[-2:])


def _lead(name: str, *tensors: Tensor) -> list[int]:
    try:
        return list(broadcast([tuple(tensor.shape[:-2]) for tensor in tensors]))
    except ValueError:
        shapes = [tuple(tensor.shape) for tensor in tensors]
        raise ValueError(f"{name}: query, key and value have shapes {shapes}") from None


def _folded(x: Tensor, lead: list[int]) -> Tensor:
    """[..., L, E] as [batch, L, E], broadcast to leading sizes."""
    count = 1
    for size in lead:
        count *= size
    return x.expand(*lead, *x.shape[-2:]).reshape(count, *x.shape[-2:])
