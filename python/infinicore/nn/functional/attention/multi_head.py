"""Multi-head attention with all its projections."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._dtype import bool_
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor


def _additive(argument: str, mask: Tensor | None, like: Tensor) -> Tensor | None:
    """A mask as numbers to be added to the scores: -inf where a boolean mask is true."""
    if mask is None:
        return None
    need_tensor("multi_head_attention_forward", argument, mask)
    if mask.dtype is bool_:
        return infinicore.zeros_like(mask, dtype=like.dtype).masked_fill(mask, -infinicore.inf)
    if not mask.dtype.is_floating_point:
        raise TypeError(
            f"multi_head_attention_forward: {argument} has type {mask.dtype!r}: expected truth"
            " values or floats"
        )
    return mask


def _longer(mask: Tensor | None) -> Tensor | None:
    """The mask extended by one key, which is visible."""
    return None if mask is None else infinicore.nn.functional.pad(mask, (0, 1))


def _joined(mask: Tensor | None, padding: Tensor | None, count: int, heads: int) -> Tensor | None:
    """Both masks as one that fits [count, heads, L, S]."""
    if mask is not None and mask.ndim == 3:
        mask = mask.reshape(count, heads, *mask.shape[1:])
    if padding is not None:
        padding = padding.reshape(count, 1, 1, -1)
        mask = padding if mask is None else mask + padding
    return mask


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of query [L, N, E] to key and value [S, N, E], with projections of all and of the
    result, and the attention weights if `need_weights`. A boolean mask excludes keys; other masks
    are added to the scores. The dimension N may be missing.

    >>> x, eye = infinicore.ones(1, 2), infinicore.eye(2)
    >>> weights = (infinicore.cat([eye] * 3), None, None, None, False, 0.0, eye, None)
    >>> F.multi_head_attention_forward(x, x, x, 2, 1, *weights)[0]
    tensor([[1., 1.]])
    """
    name, functional = "multi_head_attention_forward", infinicore.nn.functional
    for argument, tensor in (("query", query), ("key", key), ("value", value)):
        need_tensor(name, argument, tensor)
        expect(tensor.ndim == query.ndim, name, f"{argument}.ndim", tensor.ndim, f"{query.ndim}")
    expect(query.ndim in (2, 3), name, "query.ndim", query.ndim, "2 or 3")
    size = query.shape[-1]
    expect(size == embed_dim_to_check, name, "embed_dim_to_check", embed_dim_to_check, f"{size}")
    expect(size % num_heads == 0, name, "num_heads", num_heads, f"a divisor of {size}")
    batched, padding = query.ndim == 3, key_padding_mask
    if not batched:
        query, key, value = (each.unsqueeze(1) for each in (query, key, value))
    if use_separate_proj_weight:
        weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight)
    else:
        weights = need_tensor(name, "in_proj_weight", in_proj_weight).chunk(3)
    biases: Any = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    given = zip((query, key, value), weights, biases, strict=True)
    q, k, v = (functional.linear(x, weight, bias) for x, weight, bias in given)
    length, count = query.shape[:2]
    mask = _additive("attn_mask", attn_mask, q)
    padding = _additive("key_padding_mask", padding, q)
    if (bias_k is None) != (bias_v is None):
        raise ValueError(f"{name}: expected both of bias_k and bias_v, or none")
    if bias_k is not None and bias_v is not None:
        k, v = (
            infinicore.cat([x, bias.reshape(1, 1, size).expand(1, count, size)])
            for x, bias in ((k, bias_k), (v, bias_v))
        )
        mask, padding = _longer(mask), _longer(padding)

    def heads(x: Tensor) -> Tensor:
        """[T, N, E] -> [N, heads, T, E / heads]"""
        return x.reshape(x.shape[0], count, num_heads, size // num_heads).permute(1, 2, 0, 3)

    q, k, v = heads(q), heads(k), heads(v)
    if static_k is not None:
        k = static_k.reshape(count, num_heads, *static_k.shape[1:])
    if static_v is not None:
        v = static_v.reshape(count, num_heads, *static_v.shape[1:])
    if add_zero_attn:
        k, v = (functional.pad(each, (0, 0, 0, 1)) for each in (k, v))
        mask, padding = _longer(mask), _longer(padding)
    mask = _joined(mask, padding, count, num_heads)
    dropout = dropout_p if training else 0.0
    shares: Tensor | None = None
    if need_weights:
        scores = (q * (size // num_heads) ** -0.5) @ k.transpose(-2, -1)
        shares = functional.softmax(scores if mask is None else scores + mask, -1)
        shares = functional.dropout(shares, dropout) if dropout else shares
        made = shares @ v
        shares = shares.mean(1) if average_attn_weights else shares
    else:
        if mask is not None:
            mask = mask.expand(count, num_heads, length, k.shape[2])
        made = functional.scaled_dot_product_attention(
            q, k, v, mask, dropout, is_causal=is_causal and mask is None
        )
    made = functional.linear(
        made.permute(2, 0, 1, 3).reshape(length, count, size), out_proj_weight, out_proj_bias
    )
    if batched:
        return made, shares
    return made.squeeze(1), None if shares is None else shares.squeeze(0)
