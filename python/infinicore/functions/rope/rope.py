"""Rotary position embeddings of queries and keys together."""

from __future__ import annotations

from typing import Any, NamedTuple

from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, expect_shape, integers, need_tensor
from infinicore.functions._operands import counting


class Rotated(NamedTuple):
    """Queries and keys."""

    q: Tensor
    k: Tensor


@function
def mrope(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    positions: Tensor,
    head_size: int,
    rotary_dim: int,
    section_t: int,
    section_h: int,
    section_w: int,
    interleaved: bool = False,
) -> Rotated:
    """Rotates queries and keys [tokens, heads * head_size] (or [tokens, heads, head_size]) by three
    positions [3, tokens] (time, height, width), or one [tokens]. Tables cos, sin are [positions,
    rotary_dim / 2]; pairs are (i, i + rotary_dim / 2) of each head, in sections of section_t,
    section_h and section_w pairs, or interleaved if `interleaved`. Returns both.

    >>> x = infinicore.ones(1, 2)
    >>> zero, one = infinicore.zeros(1, 1), infinicore.ones(1, 1)
    >>> infinicore.mrope(x, x, one, zero, infinicore.tensor([0]), 2, 2, 1, 0, 0).q
    tensor([[1., 1.]])
    """
    name = "mrope"
    for argument, value in (("q", q), ("k", k), ("cos", cos), ("sin", sin)):
        need_tensor(name, argument, value)
    expect(q.ndim in (2, 3), name, "q.ndim", q.ndim, "2 or 3")
    expect(k.ndim in (2, 3), name, "k.ndim", k.ndim, "2 or 3")
    flat = [t.reshape(t.shape[0], -1) for t in (q, k)]
    made = emit(
        "mrope",
        *flat,
        cast_to(cos, q.dtype),
        cast_to(sin, q.dtype),
        integers(name, "positions", positions),
        head_size=head_size,
        rotary_dim=rotary_dim,
        section_t=section_t,
        section_h=section_h,
        section_w=section_w,
        interleaved=interleaved,
    )
    return Rotated(made[0].view(*q.shape), made[1].view(*k.shape))


def _rotate_first(x: Tensor, angles: Tensor, is_neox: bool) -> None:
    """Rotates the first dimensions of x [tokens, heads, D] in place; `angles` [tokens, R] has the
    cosines of a token, then its sines."""
    half = angles.shape[1] // 2
    cos, sin = angles[:, :half], angles[:, half:]
    part = x[..., : 2 * half]
    emit("rope", part, counting(x.shape[0], x), sin, cos, algo=int(is_neox), out=part)


def _angles_of(name: str, cos_sin_cache: Tensor, positions: Tensor, like: Tensor) -> Tensor:
    """The rows of a table for positions."""
    need_tensor(name, "cos_sin_cache", cos_sin_cache, 2)
    fits = cos_sin_cache.shape[1] % 2 == 0
    expect_shape(fits, name, "cos_sin_cache", cos_sin_cache, "an even number of columns")
    places = integers(name, "positions", positions).flatten()
    return cast_to(emit("index_select", cos_sin_cache, places, dim=0), like.dtype)


def _in_heads(name: str, argument: str, x: Any, head_size: int) -> Tensor:
    """A view [tokens, heads, head_size] of [tokens, heads * head_size], or the tensor itself."""
    need_tensor(name, argument, x)
    fits = x.ndim >= 2 and (x.shape[-1] == head_size or x.shape[-1] % head_size == 0)
    expect(
        fits, name, f"{argument}.shape", tuple(x.shape), f"a last dimension of heads of {head_size}"
    )
    if x.ndim == 3 and x.shape[-1] == head_size:
        return x  # type: ignore[no-any-return]
    try:
        tokens = x.shape[0] if x.ndim == 2 else -1
        return x.view(tokens, x.shape[-1] // head_size, head_size)  # type: ignore[no-any-return]
    except RuntimeError:
        raise ValueError(
            f"{name}: {argument} has strides {x.stride()}: expected heads side by side"
        ) from None


@function
def fused_rotary_embedding_(
    query: Tensor,
    key: Tensor | None,
    positions: Tensor,
    head_size: int,
    cos_sin_cache: Tensor,
    is_neox: bool = True,
) -> None:
    """Rotates query and key [tokens, heads * head_size] (or [tokens, heads, head_size]) in place. A
    row of `cos_sin_cache` [positions, R] has the cosines of R / 2 pairs, then their sines; the
    first R elements of a head are rotated, pairs (i, i + R / 2) if `is_neox`, else (2i, 2i + 1).

    >>> x = infinicore.ones(1, 2)
    >>> angles = infinicore.tensor([[0.0, 1.0]])
    >>> infinicore.fused_rotary_embedding_(x, None, infinicore.tensor([0]), 2, angles)
    >>> x
    tensor([[-1.,  1.]])
    """
    name = "fused_rotary_embedding_"
    angles = _angles_of(name, cos_sin_cache, positions, query)
    fits = angles.shape[1] <= head_size
    expect_shape(fits, name, "cos_sin_cache", cos_sin_cache, f"at most {head_size} columns")
    _rotate_first(_in_heads(name, "query", query, head_size), angles, is_neox)
    if key is not None:
        _rotate_first(_in_heads(name, "key", key, head_size), angles, is_neox)
