"""Distances, similarity, and normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from infinicore._complex_parts import real_type
from infinicore._emit import cast_to, emit, result_type
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dimension, same_shape
from infinicore.functions._operands import wide_floats
from infinicore.functions.reduce.distance import pdist

__all__ = ["cosine_similarity", "normalize", "pairwise_distance", "pdist"]


def _norm_of(x: Tensor, p: float, dims: Sequence[int], keepdim: bool) -> Tensor:
    """The p-norm along dimensions."""
    x = emit("abs", x) if x.dtype.is_complex else x
    if p == 2:
        return emit("sqrt", emit("sum", emit("mul", x, x), dim=list(dims), keepdim=keepdim))
    if p == 0:
        ones = cast_to(emit("not_equal", x, 0.0), x.dtype)
        return emit("sum", ones, dim=list(dims), keepdim=keepdim)
    size = emit("abs", x)
    if p == math.inf:
        return emit("amax", size, dim=list(dims), keepdim=keepdim)
    if p == -math.inf:
        return emit("amin", size, dim=list(dims), keepdim=keepdim)
    if p == 1:
        return emit("sum", size, dim=list(dims), keepdim=keepdim)
    powers = emit("sum", emit("pow", size, float(p)), dim=list(dims), keepdim=keepdim)
    return emit("pow", powers, 1.0 / float(p))


def _distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension."""
    gap = emit("add", emit("sub", x1, x2), float(eps))
    if gap.ndim == 0:
        return emit("abs", gap)
    return _norm_of(gap, p, [gap.ndim - 1], keepdim)


@function
def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    """The p-norm of x1 - x2 + eps along the last dimension.

    >>> F.pairwise_distance(infinicore.tensor([3.0, 4.0]), infinicore.zeros(2))
    tensor(5.0000)
    """
    same_shape("pairwise_distance", x1, x2, "x2")
    kind = real_type(result_type(x1, x2, 0.0))
    return cast_to(_distance(wide_floats(x1), wide_floats(x2), p, eps, keepdim), kind)


@function
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along a dimension; norms below eps are replaced by
    eps.

    >>> F.cosine_similarity(infinicore.tensor([1.0, 0.0]), infinicore.tensor([1.0, 1.0]), dim=0)
    tensor(0.7071)
    """
    same_shape("cosine_similarity", x1, x2, "x2")
    kind = result_type(x1, x2)
    place = dimension("cosine_similarity", dim, max(x1.ndim, x2.ndim)) - max(x1.ndim, x2.ndim)
    a, b = wide_floats(x1), wide_floats(x2)
    product = emit("mul", a, b)
    dims = [place % product.ndim] if product.ndim else []
    lengths = [
        emit("maximum", _norm_of(each.expand(*product.shape), 2, dims, True), float(eps))
        for each in (a, b)
    ]
    shares = emit("mul", emit("div", a, lengths[0]), emit("div", b, lengths[1]))
    return cast_to(emit("sum", shares, dim=dims, keepdim=False), kind)


@function
def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12
) -> Tensor:
    """input / max(p-norm of input along dim, eps).

    >>> F.normalize(infinicore.tensor([3.0, 4.0]), dim=0)
    tensor([0.6000, 0.8000])
    """
    dims = [dim] if isinstance(dim, int) else list(dim)
    places = [dimension("normalize", each, input.ndim) for each in dims]
    x = wide_floats(input)
    length = emit("maximum", _norm_of(x, p, places if input.ndim else [], True), float(eps))
    return cast_to(emit("div", x, length), input.dtype)
