"""Attention over dense and packed keys."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import int32
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_shape, need_tensor
from infinicore.functions._operands import counting, float32_at_least
from infinicore.functions.attention.paged import _mha_varlen as mha_varlen_of_pages


def _composed(
    q: Tensor, k: Tensor, v: Tensor, scale: float, hidden: Tensor | None, bias: Tensor | None
) -> Tensor:
    """softmax(scale * q k^T + bias) v of q [B, H, L, D], k [B, Hkv, T, D], v [B, Hkv, T, E], for
    cases without an operator. Masked keys are ignored; a query without visible keys gives zeros."""
    group = q.shape[1] // k.shape[1]
    heads = (q.shape[0], k.shape[1], group, q.shape[2])
    rows = float32_at_least(q).reshape(heads[0] * heads[1], group * heads[3], q.shape[3])
    keys, values = (float32_at_least(t).reshape(heads[0] * heads[1], *t.shape[2:]) for t in (k, v))
    scores = (rows @ keys.transpose(1, 2)) * scale
    scores = scores.view(heads[0], heads[1] * group, heads[3], k.shape[2])
    if bias is not None:
        scores = scores + bias
    if hidden is not None:
        scores = emit("where", hidden, float("-inf"), scores)
    weights = emit("softmax", scores, axis=-1)
    if hidden is not None:  # a row without keys is NaN
        weights = emit("where", hidden, 0.0, weights)
    mixed = weights.view(heads[0] * heads[1], group * heads[3], k.shape[2]) @ values
    return cast_to(mixed.view(heads[0], heads[1] * group, heads[3], v.shape[3]), q.dtype)


@function
def mha(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
    is_causal: bool = False,
) -> Tensor:
    """Attention of q [B, Lq, Hq, D] to k [B, Lk, Hkv, D] and v [B, Lk, Hkv, E]; Hkv divides Hq.
    With `is_causal` the last query sees all keys, each one before it one key less. `alibi_slopes`
    [Hq] subtract slope * distance from the scores. The result is [B, Lq, Hq, E].

    >>> q = k = v = infinicore.ones(1, 1, 1, 2)
    >>> infinicore.mha(q, k, v)
    tensor([[[[1., 1.]]]])
    """
    name = "mha"
    need_tensor(name, "q", q, 4)
    need_shape(name, "k", k, q.shape[0], None, None, q.shape[3])
    need_shape(name, "v", v, q.shape[0], k.shape[1], k.shape[2], None)
    _check_heads(name, q.shape[2], k.shape[2])
    queries, keys, values = (t.permute(0, 2, 1, 3) for t in (q, k, v))
    if alibi_slopes is None and v.shape[3] == k.shape[3] and q.dtype._code != "F64":
        made = _core.empty(tuple(q.shape), q.dtype, q.device)
        target = made.permute(0, 2, 1, 3)
        more: dict[str, Any] = {"scale": scale, "is_causal": is_causal}
        emit("flash_attention", queries, keys, values, out=target, **more)
        return made
    distance = counting(k.shape[1], q) - (
        counting(q.shape[1], q).unsqueeze(1) + (k.shape[1] - q.shape[1])
    )
    bias = None
    if alibi_slopes is not None:
        need_shape(name, "alibi_slopes", alibi_slopes, q.shape[2])
        steps = -float32_at_least(emit("abs", distance))
        bias = alibi_slopes.view(-1, 1, 1) * steps
    hidden = distance > 0 if is_causal else None
    mixed = _composed(queries, keys, values, scale, hidden, bias)
    return mixed.permute(0, 2, 1, 3).contiguous()


def _check_heads(name: str, heads: int, key_heads: int) -> None:
    fits = key_heads > 0 and heads % key_heads == 0
    expect(
        fits, name, "the number of query heads", heads, f"a multiple of the {key_heads} key heads"
    )


@function
def _mha_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bounds_q: Tensor,
    bounds_k: Tensor,
    longest: int,
    alibi_slopes: Tensor | None,
    scale: float,
) -> Tensor:
    # Packed keys are a cache with pages of one row, where a sequence's pages are consecutive.
    begins, ends = bounds_k[:-1], bounds_k[1:]
    tables = begins.unsqueeze(1) + counting(longest, q, kind=int32)
    return emit(  # type: ignore[no-any-return]
        "paged_attention_prefill",
        q,
        k.unsqueeze(2),
        v.unsqueeze(2),
        tables,
        ends - begins,
        bounds_q,
        alibi_slopes,
        scale=scale,
    )


def mha_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cum_seqlens_q: Tensor | None,
    cum_seqlens_k: Tensor | None,
    block_table: Tensor | None = None,
    max_seqlen_q: int | None = None,
    max_seqlen_k: int | None = None,
    alibi_slopes: Tensor | None = None,
    scale: float = 1.0,
    *,
    out: Any = None,
) -> Tensor:
    """Causal attention of sequences of varying lengths: q [tokens, Hq, D], the rows of sequence s
    from cum_seqlens_q[s] up to cum_seqlens_q[s + 1]. Keys and values are packed likewise, [tokens,
    Hkv, D], or with `block_table` [sequences, blocks] stored in pages [pages, block_size, Hkv, D].
    The last query of a sequence sees all its keys. The result is [tokens, Hq, size of a value].

    >>> x = infinicore.ones(3, 1, 2)
    >>> bounds = infinicore.tensor([0, 1, 3])
    >>> infinicore.mha_varlen(x, x, x, bounds, bounds).shape
    infinicore.Size([3, 1, 2])
    """
    name = "mha_varlen"
    need_tensor(name, "q", q, 3)
    cum_seqlens_q = _bounds(name, "cum_seqlens_q", cum_seqlens_q, q)
    if block_table is not None:
        lengths = None if cum_seqlens_k is None else cum_seqlens_k
        made: Tensor = mha_varlen_of_pages(  # type: ignore[call-arg]
            q, k, v, cum_seqlens_q, lengths, block_table, alibi_slopes, scale, out=out
        )
        return made
    need_shape(name, "k", k, None, None, q.shape[2])
    need_shape(name, "v", v, k.shape[0], k.shape[1], None)
    _check_heads(name, q.shape[1], k.shape[1])
    cum_seqlens_k = _bounds(name, "cum_seqlens_k", cum_seqlens_k, k)
    longest = k.shape[0] if not max_seqlen_k else min(k.shape[0], int(max_seqlen_k))
    packed: Tensor = _mha_varlen(  # type: ignore[call-arg]
        q, k, v, cum_seqlens_q, cum_seqlens_k, longest, alibi_slopes, scale, out=out
    )
    return packed


def _bounds(name: str, argument: str, given: Tensor | None, tokens: Tensor) -> Tensor:
    """Bounds of sequences; None means a single sequence."""
    if given is None:
        return counting(2, tokens, tokens.shape[0], kind=int32)
    made = integers(name, argument, given, int32)
    expect_shape(made.ndim == 1 and made.shape[0] > 0, name, argument, made, "(*)")
    return made
