"""Medians, quantiles, and the most frequent element."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import category, int64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import function
from infinicore._ranges import arange
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect
from infinicore.functions._operands import wide
from infinicore.functions._results import Ordered
from infinicore.functions.copy.cat import cat
from infinicore.functions.declared.reduce import argmax
from infinicore.functions.declared.scan import cummax
from infinicore.functions.elementwise.comparison import where
from infinicore.functions.index.gather import gather
from infinicore.functions.sort.sort import _selected, _selects, _sorted_along, sort


def _middle(name: str, input: Tensor, dim: Any, keepdim: bool, skips: bool) -> Any:
    """The lower median along a dimension and its index."""
    at = 0 if dim is None else dim_of(name, input, dim)
    x = input.reshape(input.numel()) if dim is None else input
    x = x if x.ndim else x.view(1)
    count = x.shape[at]
    if not count:
        if dim is None and category(x.dtype) > 1:
            nothing = tensor_for(math.nan, x.dtype, x.device)
            return Ordered(nothing, nothing)
        raise IndexError(f"{name}: the dimension is empty: expected one element or more")
    is_whole = category(x.dtype) < 2
    if _selects(x):
        line = _selected("lower_median", x, at, skips=int(skips))
        if dim is None or not input.ndim:
            return Ordered(*(each.view(()) for each in line))
        return Ordered(*(each if keepdim else each.squeeze(at) for each in line))
    values, places = _sorted_along(x, at)
    if is_whole:
        line = values.narrow(at, (count - 1) // 2, 1), places.narrow(at, (count - 1) // 2, 1)
    elif dim is None and not skips:  # only the value is needed; NaN is sorted last
        middle, last = values.select(0, (count - 1) // 2), values.select(0, count - 1)
        value = emit("where", emit("isnan", last), last, middle)
        return Ordered(value, value)
    else:
        missing = emit("sum", cast_to(emit("isnan", x), int64), dim=[at], keepdim=True)
        if skips:
            half = emit("floor_divide", emit("sub", count - 1, missing), 2)
            index = emit("maximum", half, 0)
        else:
            # NaN is sorted last: if there is one, the first is the result.
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
    """The median, the lower one of two; along a dimension, with indices. NaN if there is one.

    >>> infinicore.median(infinicore.tensor([3, 1, 2]))
    tensor(2)
    """
    made = _middle("median", input, dim, keepdim, False)
    return made.values if dim is None else made


@function
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN; along a dimension, with indices.

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
        expect(0 <= q <= 1, name, "q", q, "0 to 1", RuntimeError)
        q = tensor_for(float(q), input.dtype, input.device)
    if q.ndim > 1:
        raise RuntimeError(f"{name}: q has {q.ndim} dimensions: expected 0 or 1")
    flat = input.reshape(input.numel()) if dim is None else (input if input.ndim else input.view(1))
    at = flat.ndim - 1 if dim is None else dim_of(name, input, dim)
    x = wide(flat).transpose(at, flat.ndim - 1)
    count = x.shape[-1]
    if not count:
        raise RuntimeError(f"{name}: the dimension is empty: expected one element or more")
    values = _sorted_along(x, x.ndim - 1)[0]
    missing = emit("sum", cast_to(emit("isnan", x), x.dtype), dim=[x.ndim - 1], keepdim=True)
    spots = cast_to(q, x.dtype).reshape(q.numel())
    if skips:
        last = emit("maximum", emit("sub", count - 1, missing), 0)
        rank = emit("mul", spots, last)
    else:
        # NaN, if there is any, is sorted last.
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
    # The quantiles are the first dimension, followed by the remaining ones.
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
    """The q-th quantiles, for q from 0 to 1; a vector q adds a leading dimension.

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
    """Like `quantile`, ignoring NaN.

    >>> infinicore.nanquantile(infinicore.tensor([1., 3., float("nan")]), 0.5)
    tensor(2.)
    """
    return _quantiles("nanquantile", input, q, dim, keepdim, interpolation, True)


@function
def mode(input: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along a dimension (the smallest of ties), and its last index.

    >>> infinicore.mode(infinicore.tensor([2, 1, 2, 3])).values
    tensor(2)
    """
    place = dim_of("mode", input, dim)
    if input.ndim == 0:
        return Ordered(input.clone(), arange(1, device=input.device).reshape(()))
    count = input.shape[place]
    if count == 0:
        raise IndexError(f"mode: dimension {place} is empty: expected some elements")
    values, indices = sort(input.movedim(place, -1), dim=-1, stable=True)
    # The start of the run of equal elements that each one belongs to.
    steps = arange(count, device=input.device)
    starts = where(values[..., 1:] != values[..., :-1], steps[1:], 0)
    first = steps[:1].expand(*values.shape[:-1], 1)
    runs = steps - cummax(cat([first, starts], -1), -1).values
    # The first of the longest runs: its elements are the smallest.
    best = argmax(runs, dim=-1, keepdim=True)
    made = [gather(each, -1, best) for each in (values, indices)]
    made = [each.movedim(-1, place) if keepdim else each.squeeze(-1) for each in made]
    return Ordered(*made)
