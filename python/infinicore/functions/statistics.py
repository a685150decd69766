"""Medians, quantiles, covariances, distances."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import category, get_default_dtype, int64
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_tensor
from infinicore.functions._operands import wide
from infinicore.functions._results import Ordered
from infinicore.functions.joining import stack
from infinicore.functions.products import product
from infinicore.functions.searching import sorted_along
from infinicore.functions.shapes import diagonal
from infinicore.functions.spread import vector_norm

__all__ = [
    "cdist",
    "corrcoef",
    "cov",
    "cross",
    "dist",
    "median",
    "nanmedian",
    "nanquantile",
    "pdist",
    "quantile",
]


def _middle(name: str, input: Tensor, dim: Any, keepdim: bool, skips: bool) -> Any:
    """The lower median along a dimension and where it stood."""
    at = 0 if dim is None else dim_of(name, input, dim)
    x = input.reshape(input.numel()) if dim is None else input
    x = x if x.ndim else x.view(1)
    count = x.shape[at]
    if not count:
        if dim is None and category(x.dtype) > 1:
            nothing = tensor_for(math.nan, x.dtype, x.device)
            return Ordered(nothing, nothing)
        raise IndexError(f"{name}: the dimension is empty: expected one element or more")
    values, places = sorted_along(x, at)
    if category(x.dtype) < 2:
        line = values.narrow(at, (count - 1) // 2, 1), places.narrow(at, (count - 1) // 2, 1)
    else:
        missing = emit("sum", cast_to(emit("isnan", x), int64), dim=[at], keepdim=True)
        if skips:
            half = emit("floor_divide", emit("sub", count - 1, missing), 2)
            index = emit("maximum", half, 0)
        else:
            # NaN stands behind all others: the first one is the result if there is one.
            first = emit("sub", count, missing)
            middle = tensor_for((count - 1) // 2, int64, x.device)
            index = emit("where", emit("greater", missing, 0), first, middle)
        line = tuple(emit("gather", each, index, dim=at) for each in (values, places))
    if dim is None:
        return Ordered(*(each.view(()) for each in line))
    if not input.ndim:
        return Ordered(*(each.view(()) for each in line))
    return Ordered(*(each if keepdim else each.squeeze(at) for each in line))


@function
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median, the lower one of two; along a dimension: those and their indices. NaN if there is
    one.

    >>> infinicore.median(infinicore.tensor([3, 1, 2]))
    tensor(2)
    """
    made = _middle("median", input, dim, keepdim, False)
    return made.values if dim is None else made


@function
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of what is not NaN; along a dimension: those and their indices.

    >>> infinicore.nanmedian(infinicore.tensor([3., 1., float("nan")]))
    tensor(1.)
    """
    made = _middle("nanmedian", input, dim, keepdim, True)
    return made.values if dim is None else made


_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantiles(
    name: str, input: Tensor, q: Any, dim: Any, keepdim: bool, interpolation: str, skips: bool
) -> Tensor:
    if interpolation not in _INTERPOLATIONS:
        raise ValueError(
            f"{name}: interpolation is {interpolation!r}: expected one of {_INTERPOLATIONS}"
        )
    if input.dtype._code not in ("F32", "F64", "F16", "BF16"):
        raise RuntimeError(f"{name}: the type is {input.dtype!r}: expected floats")
    if not isinstance(q, Tensor):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}: q is {q}: expected 0 to 1")
        q = tensor_for(float(q), input.dtype, input.device)
    if q.ndim > 1:
        raise RuntimeError(f"{name}: q has {q.ndim} dimensions: expected 0 or 1")
    flat = input.reshape(input.numel()) if dim is None else (input if input.ndim else input.view(1))
    at = flat.ndim - 1 if dim is None else dim_of(name, input, dim)
    x = wide(flat).transpose(at, flat.ndim - 1)
    count = x.shape[-1]
    if not count:
        raise RuntimeError(f"{name}: the dimension is empty: expected one element or more")
    values = sorted_along(x, x.ndim - 1)[0]
    missing = emit("sum", cast_to(emit("isnan", x), x.dtype), dim=[x.ndim - 1], keepdim=True)
    spots = cast_to(q, x.dtype).reshape(q.numel())
    if skips:
        last = emit("maximum", emit("sub", count - 1, missing), 0)
        rank = emit("mul", spots, last)
    else:
        # Behind all others there is NaN if there is any.
        rank = emit("mul", spots, count - 1)
        end = tensor_for(count - 1, x.dtype, x.device)
        rank = emit("where", emit("greater", missing, 0), end, rank)
    if interpolation == "lower":
        rank = emit("floor", rank)
    elif interpolation == "higher":
        rank = emit("ceil", rank)
    elif interpolation == "nearest":
        rank = emit("round", rank)
    low = emit("floor", rank)
    below = emit("gather", values, cast_to(low, int64), dim=x.ndim - 1)
    if interpolation in ("linear", "midpoint"):
        above = emit("gather", values, cast_to(emit("ceil", rank), int64), dim=x.ndim - 1)
        part = emit("sub", rank, low)
        if interpolation == "midpoint":
            half = tensor_for(0.5, x.dtype, x.device)
            part = emit("where", emit("greater", part, 0), half, part)
        below = emit("lerp", below, above, part.expand(*below.shape))
    # The quantiles come first, then what is left.
    made = below.transpose(at, flat.ndim - 1).movedim(at, 0)
    if dim is None and keepdim:
        made = made.view(q.numel(), *(1,) * input.ndim)
    elif keepdim and input.ndim:
        made = made.unsqueeze(at + 1)
    elif not input.ndim:
        made = made.view(q.numel())
    made = cast_to(emit("rearrange", made), input.dtype)
    return made if q.ndim else made.select(0, 0)


@function
def quantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """Values that a part q (0 to 1) of the elements lies below; several q make a first dimension.

    >>> infinicore.quantile(infinicore.tensor([1., 2., 3.]), 0.25)
    tensor(1.5000)
    """
    return _quantiles("quantile", input, q, dim, keepdim, interpolation, False)


@function
def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """As `quantile`, of what is not NaN.

    >>> infinicore.nanquantile(infinicore.tensor([1., 3., float("nan")]), 0.5)
    tensor(2.)
    """
    return _quantiles("nanquantile", input, q, dim, keepdim, interpolation, True)


# ---- Covariance ---------------------------------------------------------------------------------


def _covariance(input: Tensor, correction: float, fweights: Any, aweights: Any) -> Tensor:
    if input.ndim > 2:
        raise RuntimeError(f"cov: input has {input.ndim} dimensions: expected 2 at most")
    kind = input.dtype if category(input.dtype) > 1 else get_default_dtype()
    x = wide(cast_to(input, kind))
    x = x.reshape(1, x.numel()) if x.ndim < 2 else x
    weights = None
    for each in (fweights, aweights):
        if each is not None:
            each = cast_to(each, x.dtype)
            weights = each if weights is None else emit("mul", weights, each)
    if weights is None:
        count = x.shape[1]
        mean = emit("mean", x, dim=[1], keepdim=True)
        total: Any = tensor_for(count - correction if count > correction else 0, x.dtype, x.device)
        centred = scaled = emit("sub", x, mean)
    else:
        whole = emit("sum", weights, dim=[0])
        mean = emit("div", emit("sum", emit("mul", x, weights), dim=[1], keepdim=True), whole)
        if aweights is None or correction == 0:
            total = emit("sub", whole, float(correction))
        else:
            again = emit("mul", weights, cast_to(aweights, x.dtype))
            share = emit("div", emit("sum", again, dim=[0]), whole)
            total = emit("sub", whole, emit("mul", share, float(correction)))
        total = emit("maximum", total, 0.0)
        centred = emit("sub", x, mean)
        scaled = emit("mul", centred, weights)
    made = emit("div", product(scaled, centred.transpose(0, 1)), total)
    made = cast_to(made, kind)
    return made if input.ndim > 1 else made.view(())


@function
def cov(
    input: Tensor, *, correction: float = 1, fweights: Any = None, aweights: Any = None
) -> Tensor:
    """Covariances of variables (rows) over observations (columns), which may count several times
    (`fweights`) or have a weight (`aweights`).

    >>> infinicore.cov(infinicore.tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    return _covariance(input, correction, fweights, aweights)


@function
def corrcoef(input: Tensor) -> Tensor:
    """Correlations of variables (rows) over observations (columns).

    >>> infinicore.corrcoef(infinicore.tensor([[1., 2., 3.], [3., 2., 1.]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    made = _covariance(input, 1, None, None)
    if not made.ndim:
        return emit("div", made, made)
    spread = emit("sqrt", diagonal(made))
    made = emit("div", emit("div", made, spread.unsqueeze(1)), spread)
    return emit("minimum", emit("maximum", made, -1.0), 1.0)


# ---- Distances ----------------------------------------------------------------------------------


@function
def dist(input: Tensor, other: Tensor, p: float = 2.0) -> Tensor:
    """The p-norm of the difference of two tensors; broadcast.

    >>> infinicore.dist(infinicore.tensor([0., 0.]), infinicore.tensor([3., 4.]))
    tensor(5.)
    """
    kind = result_type(input, other)
    difference = emit("sub", wide(cast_to(input, kind)), wide(cast_to(other, kind)))
    return cast_to(vector_norm(difference, p, None, False), kind)


def _rows_apart(a: Tensor, b: Tensor, p: float) -> Tensor:
    return vector_norm(emit("sub", a.unsqueeze(-2), b.unsqueeze(-3)), p, -1, False)


@function
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    """The p-norm of the difference of every row of one matrix and every row of another; leading
    dimensions are batches and broadcast.

    >>> infinicore.cdist(infinicore.zeros(1, 2), infinicore.tensor([[3., 4.]]))
    tensor([[5.]])
    """
    if x1.ndim < 2 or x2.ndim < 2 or x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist: shapes {tuple(x1.shape)} and {tuple(x2.shape)}: expected matrices with as"
            " many columns"
        )
    if p < 0:
        raise RuntimeError(f"cdist: p is {p}: expected 0 or more")
    kind = result_type(x1, x2)
    a, b = cast_to(x1, kind), cast_to(x2, kind)
    if kind._code == "F64" or not x1.shape[-1]:
        if not x1.shape[-1]:
            return emit("sum", emit("sub", a.unsqueeze(-2), b.unsqueeze(-3)), dim=[-1])
        return _rows_apart(a, b, p)
    return emit("cdist", a, b, p=p)


def pdist(input: Tensor, p: float = 2.0, *, out: Any = None) -> Tensor:
    """The p-norm of the difference of each two rows of a matrix.

    >>> infinicore.pdist(infinicore.tensor([[0., 0.], [3., 4.]]))
    tensor([5.])
    """
    need_tensor("pdist", "input", input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist: input has {input.ndim} dimensions: expected 2")
    from infinicore._data import tensor
    from infinicore.functions.taking import take

    count = input.shape[0]
    places = [i * count + j for i in range(count) for j in range(i + 1, count)]
    if not places:
        return input.new_empty(0) if out is None else out
    index = tensor(places, dtype=int64, device=input.device)
    return take(cdist(input, input, p), index, out=out)


@function
def _cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    a, b = ([each.select(dim, i) for i in range(3)] for each in (input, other))
    parts = []
    for i, j in ((1, 2), (2, 0), (0, 1)):
        parts.append(emit("sub", emit("mul", a[i], b[j]), emit("mul", a[j], b[i])))
    return stack(parts, dim)


def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Any = None) -> Tensor:
    """The cross product of vectors of 3 elements along a dimension: the first of size 3 if none is
    named.

    >>> infinicore.cross(infinicore.tensor([1, 0, 0]), infinicore.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    from infinicore.functions.shapes import broadcast_tensors

    input, other = broadcast_tensors(input, other)
    if dim is None:
        found = [d for d, size in enumerate(input.shape) if size == 3]
        if not found:
            raise RuntimeError("cross: no dimension has size 3")
        dim = found[0]
    at = dim_of("cross", input, dim)
    if input.shape[at] != 3:
        raise RuntimeError(f"cross: dimension {at} has size {input.shape[at]}: expected 3")
    return _cross(input, other, at, out=out)
