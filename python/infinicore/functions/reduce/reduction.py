"""Reductions: sums, means, extrema.

`dim` is one dimension, several, or None for all; with `keepdim` they are kept with size 1.
"""

from __future__ import annotations

from typing import Any

from infinicore._creation import _shape_of
from infinicore._dtype import bool_, category, dtype, int64, uint8
from infinicore._emit import cast_to, emit, placed, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, folded_dims
from infinicore.functions._operands import wide
from infinicore.functions._results import Extremes, Ordered


def _folded(
    function: str,
    operator: str,
    input: Tensor,
    dim: Any,
    keepdim: bool,
    out: Any = None,
    **values: Any,
) -> Tensor:
    """Calls an operator that reduces dimensions."""
    dims = folded_dims(function, input, dim)
    return emit(operator, input, out=out, dim=dims, keepdim=keepdim, **values)


def _into(function: str, made: Tensor, kind: dtype, out: Any) -> Tensor:
    """The result in this type, or in that of `out`."""
    return cast_to(made, kind) if out is None else placed(function, made, out)


@function
def sum(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    out: Any = None,
    *,
    dtype: dtype | None = None,
) -> Tensor:
    """The sum over dimensions. Integers are summed as int64.

    >>> infinicore.sum(infinicore.ones(2, 3), 1)
    tensor([3., 3.])
    """
    if dtype is not None:
        input = cast_to(input, dtype)
    return _narrowed("sum", input, dim, keepdim, dtype, out)


def sum_to_size(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """Sums over the dimensions along which a tensor of this size would be broadcast to input.

    >>> infinicore.sum_to_size(infinicore.ones(2, 3), 1, 3)
    tensor([[2., 2., 2.]])
    """
    shape, wanted = tuple(input.shape), tuple(_shape_of("sum_to_size", sizes, size))
    front = len(shape) - len(wanted)
    pairs = list(zip(shape[front:], wanted, strict=True)) if front >= 0 else []
    if front < 0 or [pair for pair in pairs if pair[0] != pair[1] != 1]:
        raise RuntimeError(
            f"sum_to_size: size is {wanted}: expected one that broadcasts to {shape}"
        )
    behind = [d for d in range(front, len(shape)) if wanted[d - front] == 1 != shape[d]]
    if wanted and not front and not behind:
        return input
    made: Tensor = sum(input, [*range(front), *behind], keepdim=True)
    return made.view(*wanted) if wanted else made.view(())


def _narrowed(
    name: str, input: Tensor, dim: Any, keepdim: bool, kind: dtype | None, out: Any
) -> Tensor:
    """The type of sums and products: int64 for integers."""
    natural = int64 if category(input.dtype) < 2 else input.dtype
    fits = kind is None and (out is None or out.dtype is natural)
    made = _folded(name, name, input, dim, keepdim, out if fits else None)
    return made if fits else _into(name, made, kind or natural, out)


@function
def prod(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Any = None,
) -> Tensor:
    """The product over dimensions. Integers are multiplied as int64.

    >>> infinicore.prod(infinicore.tensor([2., 3., 4.]))
    tensor(24.)
    """
    if dtype is not None:
        input = cast_to(input, dtype)
    return _narrowed("prod", input, dim, keepdim, dtype, out)


@function
def mean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Any = None,
) -> Tensor:
    """The mean over dimensions.

    >>> infinicore.mean(infinicore.tensor([1., 2., 6.]))
    tensor(3.)
    """
    if dtype is not None:
        input = cast_to(input, dtype)
    if category(input.dtype) < 2:
        raise RuntimeError(f"mean: the type is {input.dtype!r}: expected floats, or a float dtype=")
    return _folded("mean", "mean", input, dim, keepdim, out)


@function
def nansum(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Any = None,
) -> Tensor:
    """The sum over dimensions, ignoring NaN.

    >>> infinicore.nansum(infinicore.tensor([1., float("nan")]))
    tensor(1.)
    """
    if input.dtype.is_complex:
        zero = tensor_for(0, input.dtype, input.device)
        input = emit("where", emit("isnan", input), zero, input)
    if dtype is not None:
        input = cast_to(input, dtype)
    name = "nansum" if input.dtype.is_floating_point else "sum"
    return _narrowed(name, input, dim, keepdim, dtype, out)


@function
def nanmean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    out: Any = None,
) -> Tensor:
    """The mean over dimensions, ignoring NaN.

    >>> infinicore.nanmean(infinicore.tensor([1., 3., float("nan")]))
    tensor(2.)
    """
    kind = dtype or input.dtype
    if category(kind) < 2:
        raise RuntimeError(f"nanmean: the type is {kind!r}: expected floats, or a float dtype=")
    x = wide(input)
    missing = emit("isnan", x)
    total = _folded(
        "nanmean", "sum", emit("where", missing, tensor_for(0, x.dtype, x.device), x), dim, keepdim
    )
    count = _folded("nanmean", "sum", cast_to(emit("logical_not", missing), x.dtype), dim, keepdim)
    return _into("nanmean", emit("div", total, count), kind, out)


@function
def aminmax(
    input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None
) -> Any:
    """The smallest and the largest element, over one dimension or all.

    >>> infinicore.aminmax(infinicore.tensor([3, 1, 2])).max
    tensor(3)
    """
    low, high = (
        _folded("aminmax", name, input, dim, keepdim, each)
        for name, each in zip(("amin", "amax"), out or (None, None), strict=True)
    )
    return Extremes(low, high)


def _extreme(name: str, input: Tensor, dim: Any, keepdim: bool, out: Any) -> Any:
    if isinstance(dim, Tensor):
        return emit(f"{name}imum", input, dim, out=out)
    if dim is None:
        return _folded(name, f"a{name}", input, None, keepdim, out)
    at = dim_of(name, input, dim)
    values, indices = out if out is not None else (None, None)
    made = _folded(name, f"a{name}", input, at, keepdim, values)
    return Ordered(made, _folded(name, f"arg{name}", input, at, keepdim, indices))


@function
def max(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    other: Any = None,
    out: Any = None,
) -> Any:
    """The largest element; over one dimension, with indices; with a second tensor, the elementwise
    maximum.

    >>> infinicore.max(infinicore.tensor([[1, 5], [7, 2]]), 1).indices
    tensor([1, 0])
    """
    return _extreme("max", input, dim if other is None else other, keepdim, out)


@function
def min(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    other: Any = None,
    out: Any = None,
) -> Any:
    """The smallest element; over one dimension, with indices; with a second tensor, the elementwise
    minimum.

    >>> infinicore.min(infinicore.tensor([[1, 5], [7, 2]]), 1).values
    tensor([1, 2])
    """
    return _extreme("min", input, dim if other is None else other, keepdim, out)


def _truth(name: str, input: Tensor, dim: Any, keepdim: bool, out: Any) -> Tensor:
    if input.dtype is uint8 and out is None:
        return cast_to(_folded(name, name, input, dim, keepdim), uint8)
    if isinstance(out, Tensor) and out.dtype is not bool_:
        return _into(name, _folded(name, name, input, dim, keepdim), out.dtype, out)
    return _folded(name, name, input, dim, keepdim, out)


@function
def all(input: Tensor, dim: Any = None, keepdim: bool = False, out: Any = None) -> Tensor:
    """Whether all elements over the dimensions are nonzero.

    >>> infinicore.all(infinicore.tensor([[True, False], [True, True]]), 1)
    tensor([False,  True])
    """
    return _truth("all", input, dim, keepdim, out)


@function
def any(input: Tensor, dim: Any = None, keepdim: bool = False, out: Any = None) -> Tensor:
    """Whether any element over the dimensions is nonzero.

    >>> infinicore.any(infinicore.tensor([[True, False], [False, False]]), 1)
    tensor([ True, False])
    """
    return _truth("any", input, dim, keepdim, out)


@function
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """The number of nonzero elements over dimensions.

    >>> infinicore.count_nonzero(infinicore.tensor([3, 0, 5]))
    tensor(2)
    """
    return _folded("count_nonzero", "sum", cast_to(emit("not_equal", input, 0), int64), dim, False)
