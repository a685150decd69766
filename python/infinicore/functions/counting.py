"""Elements counted and told apart: the values decide about the sizes of results."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._dtype import bool_, category, int64
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import function
from infinicore._places import places
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_tensor
from infinicore.functions._results import Histogram
from infinicore.functions.searching import argsort, sort

__all__ = [
    "argwhere",
    "bincount",
    "histc",
    "histogram",
    "nonzero",
    "unique",
    "unique_consecutive",
    "unravel_index",
]


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """Where elements are not 0: indices as rows, or with `as_tuple` a tensor for each dimension.
    The values decide about the size, so this can't be recorded.

    >>> infinicore.nonzero(infinicore.tensor([0, 5, 7]))
    tensor([[1],
            [2]])
    """
    _core.refuse_while_recording("nonzero")
    need_tensor("nonzero", "input", input)
    if not input.ndim:
        if as_tuple:
            return nonzero(input.view(1), as_tuple=True)
        count = int(input.item() != 0)
        return input.new_empty(count, 0, dtype=int64)
    found = places(input if input.dtype is bool_ else input != 0)
    if as_tuple:
        return tuple(found)
    from infinicore.functions.joining import stack

    return stack(found, 1, out=out)


def argwhere(x: Tensor) -> Tensor:
    """Where elements are not 0: indices as rows.

    >>> infinicore.argwhere(infinicore.tensor([0., 2.]))
    tensor([[1]])
    """
    return nonzero(x)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Places in a tensor of some shape for the numbers of elements in order: a tensor for each
    dimension.

    >>> infinicore.unravel_index(infinicore.tensor([4]), (2, 3))[0]
    tensor([1])
    """
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    made: list[Tensor] = []
    for size in reversed(sizes):
        made.append(indices % size)
        indices = indices // size
    return tuple(reversed(made))


def bincount(input: Tensor, weights: Any = None, minlength: int = 0, *, out: Any = None) -> Tensor:
    """How often each number occurs in a vector of integers of 0 or more, or the sums of their
    weights. The largest number decides about the size, so this can't be recorded.

    >>> infinicore.bincount(infinicore.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    _core.refuse_while_recording("bincount")
    if need_tensor("bincount", "input", input).ndim != 1 or category(input.dtype) > 1:
        raise RuntimeError("bincount: expected a vector of integers")
    if minlength < 0:
        raise RuntimeError(f"bincount: minlength is {minlength}: expected 0 or more")
    length = minlength
    if input.numel():
        if int(input.min().item()) < 0:
            raise RuntimeError("bincount: input has negative numbers: expected 0 or more")
        length = max(length, int(input.max().item()) + 1)
    return _bincount(input, weights, length, out=out)


@function
def _bincount(input: Tensor, weights: Any, length: int) -> Tensor:
    kind = int64
    if weights is not None:
        kind = weights.dtype if weights.dtype._code in ("F32", "F64") else result_type(0.0)
        if weights.dtype._code not in ("F32", "F64"):
            from infinicore._dtype import float64

            kind = float64
        weights = cast_to(weights, kind)
    input = cast_to(input, int64) if input.dtype is bool_ else input
    target = _core.empty((length,), kind, input.device)
    return emit("bincount", input, weights, out=target, length=length)


def _edges(name: str, input: Tensor, low: float, high: float) -> tuple[float, float]:
    """The range of a histogram: that of the values if it is empty."""
    if low == high:
        if not input.numel():
            return low, high + 1
        _core.refuse_while_recording(f"{name} without a range")
        low, high = float(input.min().item()), float(input.max().item())
        if low == high:
            low, high = low - 1, high + 1
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"{name}: the range is {low} to {high}: expected finite numbers")
    if low > high:
        raise RuntimeError(f"{name}: the range is {low} to {high}: expected it in order")
    return low, high


@function
def _histc(input: Tensor, bins: int, low: float, high: float) -> Tensor:
    flat = input.reshape(input.numel())
    return cast_to(emit("histc", flat, bins=bins, min_val=low, max_val=high), input.dtype)


def histc(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, *, out: Any = None
) -> Tensor:
    """How many elements lie in each of the equal parts of a range; if it is empty, in that of the
    elements.

    >>> infinicore.histc(infinicore.tensor([1., 2., 1.]), 4, 0, 3)
    tensor([0., 2., 1., 0.])
    """
    need_tensor("histc", "input", input)
    if bins < 1:
        raise RuntimeError(f"histc: bins is {bins}: expected 1 or more")
    low, high = _edges("histc", input, float(min), float(max))
    return _histc(input, int(bins), low, high, out=out)


def histogram(
    input: Tensor,
    bins: Any,
    *,
    range: Any = None,
    weight: Any = None,
    density: bool = False,
    out: Any = None,
) -> Any:
    """How many elements, or how much of their weight, lie in the parts of a range: of `bins` equal
    ones, or between the given edges. `density` makes the whole 1.

    >>> infinicore.histogram(infinicore.tensor([1., 2., 1.]), 4, range=(0., 3.)).hist
    tensor([0., 2., 1., 0.])
    """
    need_tensor("histogram", "input", input)
    if isinstance(bins, Tensor):
        edges = bins
    else:
        from infinicore._ranges import linspace

        low, high = _edges("histogram", input, *(map(float, range) if range else (0.0, 0.0)))
        edges = linspace(low, high, int(bins) + 1, dtype=input.dtype, device=input.device)
    made = _histogram(input, edges, weight, density)
    if out is None:
        return Histogram(made, edges)
    out[0].copy_(made)
    out[1].copy_(edges)
    return Histogram(*out)


@function
def _histogram(input: Tensor, edges: Tensor, weight: Any, density: bool) -> Tensor:
    flat, count = input.reshape(input.numel()), edges.shape[0] - 1
    at = emit("sub", emit("searchsorted", edges, flat, right=True), 1)
    # The last edge belongs to the last part.
    last = emit("equal", flat, edges.narrow(0, count, 1))
    at = emit("where", last, tensor_for(count - 1, int64, input.device), at)
    inside = emit("logical_and", emit("greater_equal", at, 0), emit("less", at, count))
    at = emit("where", inside, at, tensor_for(count, int64, input.device))
    one = tensor_for(1, input.dtype, input.device).expand(*flat.shape)
    amount = one if weight is None else cast_to(weight, input.dtype).reshape(input.numel())
    empty = tensor_for(0, input.dtype, input.device).expand(count + 1)
    made = emit("scatter_add", empty, at, amount, dim=0).narrow(0, 0, count)
    if density:
        width = emit("sub", edges.narrow(0, 1, count), edges.narrow(0, 0, count))
        return emit("div", emit("div", made, emit("sum", made, dim=[0])), width)
    return emit("rearrange", made)


@function
def _new_ones(input: Tensor) -> Tensor:
    """Where an element, or a row, differs from the one before it."""
    count = input.shape[0]
    later, earlier = input.narrow(0, 1, count - 1), input.narrow(0, 0, count - 1)
    differs = emit("not_equal", later, earlier)
    if differs.ndim > 1:
        differs = emit("any", differs, dim=list(_range(1, differs.ndim)))
    made = _core.empty((count,), bool_, input.device)
    emit("rearrange", tensor_for(True, bool_, input.device).expand(1), out=made.narrow(0, 0, 1))
    emit("rearrange", differs, out=made.narrow(0, 1, count - 1))
    return made


_range = range


def _distinct(rows: Tensor, back: Any, inverse: bool, counts: bool, shape: Any) -> Any:
    """Rows without repetitions; which of these each was; how many there were of each."""
    from infinicore.functions.joining import cat
    from infinicore.functions.taking import index_select

    size = rows.shape[0]
    if size == 0:
        nothing = rows.new_empty(*shape, dtype=int64)
        return rows, nothing, nothing
    flags = _new_ones(rows)
    index = places(flags)[0]
    made = index_select(rows, 0, index)
    which = None
    if inverse:
        which = flags.to(int64).cumsum(0) - 1
        if back is not None:
            which = which.new_empty(size).scatter(0, back, which)
        which = which.view(*shape) if shape else which.view(())
    if not counts:
        return made, which, None
    ends = cat([index[1:], index.new_full((1,), size)])
    return made, which, ends - index


def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements (or the parts along a dimension) in order, each once; then which of them each
    was, and how many there were of each. The values decide about the size, so this can't be
    recorded.

    >>> infinicore.unique(infinicore.tensor([2, 1, 2]))
    tensor([1, 2])
    """
    need_tensor("unique", "input", input)
    _core.refuse_while_recording("unique")
    if dim is None:
        flat = input.reshape(input.numel())
        order, came_from = sort(flat, 0, stable=True)
        made, which, counts = _distinct(
            order, came_from, return_inverse, return_counts, tuple(input.shape)
        )
    else:
        at = dim_of("unique", input, dim)
        rows = input.movedim(at, 0).contiguous()
        flat = rows.reshape(rows.shape[0], rows.numel() // max(rows.shape[0], 1))
        # Sorted by the last column first: stable sorts leave the first one to decide.
        came_from = None
        for column in reversed(_range(flat.shape[1])):
            found = argsort(flat[:, column], 0, stable=True)
            flat = flat[found]
            came_from = found if came_from is None else came_from[found]
        made, which, counts = _distinct(
            flat, came_from, return_inverse, return_counts, (rows.shape[0],)
        )
        made = made.reshape(made.shape[0], *rows.shape[1:]).movedim(0, at)
    return _chosen(made, which, counts, return_inverse, return_counts)


def _chosen(made: Tensor, which: Any, counts: Any, inverse: bool, with_counts: bool) -> Any:
    results = [made, *([which] if inverse else ()), *([counts] if with_counts else ())]
    return results[0] if len(results) == 1 else tuple(results)


def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """As `unique`, but only neighbours that are equal are taken together, and nothing is sorted.

    >>> infinicore.unique_consecutive(infinicore.tensor([2, 2, 1, 2]))
    tensor([2, 1, 2])
    """
    need_tensor("unique_consecutive", "input", input)
    _core.refuse_while_recording("unique_consecutive")
    if dim is None:
        rows, shape, at = input.reshape(input.numel()), tuple(input.shape), 0
    else:
        at = dim_of("unique_consecutive", input, dim)
        rows = input.movedim(at, 0)
        shape = (rows.shape[0],)
    made, which, counts = _distinct(rows, None, return_inverse, return_counts, shape)
    made = made.movedim(0, at) if at else made
    return _chosen(made, which, counts, return_inverse, return_counts)
