"""Cumulative sums, products and extrema along a dimension; differences of adjacent elements."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import bool_, dtype
from infinicore._emit import cast_to, emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, need_rank
from infinicore.functions.copy.cat import cat


def _running(name: str, input: Tensor, dim: int, kind: dtype | None, out: Any) -> Tensor:
    at = dim_of(name, input, dim)
    if kind is None:
        return emit(name, input, dim=at, out=out)
    made = cast_to(emit(name, cast_to(input, kind), dim=at), kind)
    return made if out is None else emit("cast", made, out=out)


@function
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, out: Any = None) -> Tensor:
    """Cumulative sums along a dimension. Integers are summed as int64.

    >>> infinicore.cumsum(infinicore.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    return _running("cumsum", input, dim, dtype, out)


@function
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None, out: Any = None) -> Tensor:
    """Cumulative products along a dimension. Integers are multiplied as int64.

    >>> infinicore.cumprod(infinicore.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    return _running("cumprod", input, dim, dtype, out)


@function
def logcumsumexp(
    input: Tensor, dim: int, exclusive: bool = False, reverse: bool = False, *, out: Any = None
) -> Tensor:
    """Cumulative log(sum(exp(input))) along a dimension; excluding the element itself if
    `exclusive`, from the end if `reverse`.

    >>> infinicore.logcumsumexp(infinicore.zeros(2), 0)
    tensor([0.0000, 0.6931])
    """
    at = dim_of("logcumsumexp", input, dim)
    if not input.ndim:
        made = emit("logcumsumexp", input.view(1), axis=0, exclusive=exclusive, reverse=reverse)
        made = made.view(())
        return made if out is None else emit("rearrange", made, out=out)
    return emit("logcumsumexp", input, axis=at, exclusive=exclusive, reverse=reverse, out=out)


@function
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Any = None,
    append: Any = None,
) -> Tensor:
    """The n-th differences of adjacent elements along a dimension; tensors may be prepended and
    appended first.

    >>> infinicore.diff(infinicore.tensor([1, 3, 7]))
    tensor([2, 4])
    """
    need_rank("diff", "input", input, 1, or_more=True)
    at = dim_of("diff", input, dim)
    expect(n >= 0, "diff", "n", n, "0 or more", RuntimeError)
    if n == 0:
        return emit("rearrange", input)
    parts = [each for each in (prepend, input, append) if each is not None]
    if len(parts) > 1:
        sizes = list(input.shape)
        for i, part in enumerate(parts):
            if not part.ndim:
                sizes[at] = 1
                parts[i] = part.expand(*sizes)
        input = cat(parts, at)
    for _ in range(min(n, input.shape[at])):
        count = input.shape[at] - 1
        later, earlier = input.narrow(at, 1, count), input.narrow(at, 0, count)
        input = emit("not_equal" if input.dtype is bool_ else "sub", later, earlier)
    return input


def _strips(name: str, y: Tensor, x: Any, dx: float, dim: int) -> Tensor:
    """The area of each trapezoid between adjacent points."""
    at = dim_of(name, y, dim)
    count = y.shape[at] - 1
    if count < 0:
        raise RuntimeError(f"{name}: the dimension is empty: expected one element or more")
    heights = emit("add", y.narrow(at, 1, count), y.narrow(at, 0, count))
    if x is None:
        return emit("mul", heights, dx / 2)
    if x.ndim == 1 and y.ndim > 1:
        x = x.view(*(x.shape[0] if d == at else 1 for d in range(y.ndim)))
    widths = emit("sub", x.narrow(at, 1, count), x.narrow(at, 0, count))
    return emit("div", emit("mul", heights, widths), 2.0)


@function
def trapezoid(y: Tensor, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The integral along a dimension by the trapezoidal rule, with spacing dx or at the points x.

    >>> infinicore.trapezoid(infinicore.tensor([1., 3., 5.]))
    tensor(6.)
    """
    return emit("sum", _strips("trapezoid", y, x, dx, dim), dim=[dim_of("trapezoid", y, dim)])


trapz = trapezoid


@function
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: float = 1.0, dim: int = -1) -> Tensor:
    """The cumulative integral by the trapezoidal rule; see `trapezoid`.

    >>> infinicore.cumulative_trapezoid(infinicore.tensor([1., 3., 5.]))
    tensor([2., 6.])
    """
    strips = _strips("cumulative_trapezoid", y, x, dx, dim)
    return emit("cumsum", strips, dim=dim_of("cumulative_trapezoid", y, dim))
