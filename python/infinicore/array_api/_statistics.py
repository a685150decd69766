"""Reductions along axes: `axis=None` reduces all of them, `axis=()` none."""

from __future__ import annotations

import builtins
from typing import Any

import infinicore
from infinicore._dtype import category, dtype
from infinicore._tensor import Tensor
from infinicore.array_api._dtypes import as_array
from infinicore.array_api._manipulation import axes_of

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def _axes(function: str, x: Any, axis: Any) -> tuple[int, ...]:
    as_array(function, "x", x)
    return tuple(range(x.ndim)) if axis is None else axes_of(function, axis, x.ndim)


def accumulated_type(x: Tensor, kind: dtype | None) -> dtype:
    """Sums and products of integers have 64 bits, unsigned for unsigned integers."""
    if kind is not None or category(x.dtype) > 1:
        return kind or x.dtype
    return infinicore.uint64 if x.dtype._name.startswith("uint") else infinicore.int64


def sum(
    x: Tensor, /, *, axis: Any = None, dtype: dtype | None = None, keepdims: bool = False
) -> Tensor:
    """The sum over axes. Integers are summed in 64 bits."""
    axes, kind = _axes("sum", x, axis), accumulated_type(x, dtype)
    if not axes:
        return x.to(kind, copy=True)
    return infinicore.sum(x, axes, keepdims, dtype=kind)


def prod(
    x: Tensor, /, *, axis: Any = None, dtype: dtype | None = None, keepdims: bool = False
) -> Tensor:
    """The product over axes. Integers are multiplied in 64 bits."""
    axes, kind = _axes("prod", x, axis), accumulated_type(x, dtype)
    if not axes:
        return x.to(kind, copy=True)
    made = x.to(kind)
    for each in builtins.sorted(axes, reverse=True):
        made = infinicore.prod(made, each, keepdims, dtype=kind)
    return made


def mean(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The mean over axes."""
    axes = _axes("mean", x, axis)
    return infinicore.mean(x, axes, keepdims) if axes else x.clone()


def max(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The largest element over axes; NaN if there is one."""
    axes = _axes("max", x, axis)
    return infinicore.amax(x, axes, keepdims) if axes else x.clone()


def min(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The smallest element over axes; NaN if there is one."""
    axes = _axes("min", x, axis)
    return infinicore.amin(x, axes, keepdims) if axes else x.clone()


def _spread(name: str, x: Tensor, axis: Any, correction: float, keepdims: bool) -> Tensor:
    axes = _axes(name, x, axis)
    if not axes:  # each element by itself
        apart = x.unsqueeze(-1)
        return getattr(infinicore, name)(apart, (x.ndim,), correction=float(correction))  # type: ignore[no-any-return]
    return getattr(infinicore, name)(x, axes, correction=float(correction), keepdim=keepdims)  # type: ignore[no-any-return]


def var(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The variance over axes: the sum of squares is divided by the number of elements minus the
    correction."""
    return _spread("var", x, axis, correction, keepdims)


def std(
    x: Tensor, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """The standard deviation over axes."""
    return _spread("std", x, axis, correction, keepdims)


def _cumulative(
    name: str, x: Tensor, axis: int | None, kind: dtype | None, initial: float | None
) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{name}: x has {x.ndim} dimensions: expected an axis")
        axis = 0
    (at,) = axes_of(name, axis, x.ndim)
    scan = infinicore.cumsum if name.endswith("sum") else infinicore.cumprod
    made = x.to(accumulated_type(x, kind))
    wanted = made.dtype
    if wanted is infinicore.uint64:  # signed and unsigned 64-bit integers have the same sums
        made = scan(made.view(infinicore.int64), at).view(wanted)
    else:
        made = scan(made, at).to(wanted)
    if initial is None:
        return made
    shape = [*x.shape]
    shape[at] = 1
    first = infinicore.full(shape, initial, dtype=made.dtype, device=made.device)
    return infinicore.cat([first, made], at)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: dtype | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Cumulative sums along an axis; preceded by a 0 if `include_initial`."""
    return _cumulative("cumulative_sum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: dtype | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Cumulative products along an axis; preceded by a 1 if `include_initial`."""
    return _cumulative("cumulative_prod", x, axis, dtype, 1 if include_initial else None)


def _truths(x: Tensor) -> Tensor:
    return x if x.dtype is infinicore.bool else infinicore.ne(x, 0)


def all(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether all elements over the axes are nonzero."""
    axes = _axes("all", x, axis)
    return infinicore.all(_truths(x), axes, keepdims) if axes else _truths(x).clone()


def any(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """Whether any element over the axes is nonzero."""
    axes = _axes("any", x, axis)
    return infinicore.any(_truths(x), axes, keepdims) if axes else _truths(x).clone()


def count_nonzero(x: Tensor, /, *, axis: Any = None, keepdims: bool = False) -> Tensor:
    """The number of nonzero elements over the axes."""
    as_array("count_nonzero", "x", x)
    return sum(_truths(x).to(infinicore.int64), axis=axis, keepdims=keepdims)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The n-th differences of adjacent elements along an axis."""
    return infinicore.diff(x, n, axis, prepend, append)
