"""Counts and histograms."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._dtype import bool_, category, float64, int64
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import function, write
from infinicore._ranges import linspace
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions._results import Histogram


def bincount(input: Tensor, weights: Any = None, minlength: int = 0, *, out: Any = None) -> Tensor:
    """Counts the occurrences of each number in a vector of nonnegative integers, or sums their
    weights. The result size depends on the values, so this cannot be recorded.

    >>> infinicore.bincount(infinicore.tensor([1, 1, 3]))
    tensor([0, 2, 0, 1])
    """
    _core.refuse_while_recording("bincount")
    if need_tensor("bincount", "input", input).ndim != 1 or category(input.dtype) > 1:
        raise RuntimeError("bincount: expected a vector of integers")
    expect(minlength >= 0, "bincount", "minlength", minlength, "0 or more", RuntimeError)
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
            kind = float64
        weights = cast_to(weights, kind)
    input = cast_to(input, int64) if input.dtype is bool_ else input
    target = _core.empty((length,), kind, input.device)
    return emit("bincount", input, weights, out=target, length=length)


def _range_of(
    name: str, input: Tensor, low: float, high: float, margin: float
) -> tuple[float, float]:
    """The range of a histogram: that of the values if the given one is empty; a single value is
    extended by the margin to either side."""
    if low == high:
        if not input.numel():
            return low, high + 1
        _core.refuse_while_recording(f"{name} without a range")
        low, high = float(input.min().item()), float(input.max().item())
        if low == high:
            low, high = low - margin, high + margin
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
    """A histogram with equal bins over a range; if the range is empty, over that of the elements.

    >>> infinicore.histc(infinicore.tensor([1., 2., 1.]), 4, 0, 3)
    tensor([0., 2., 1., 0.])
    """
    need_tensor("histc", "input", input)
    expect(bins >= 1, "histc", "bins", bins, "1 or more", RuntimeError)
    low, high = _range_of("histc", input, float(min), float(max), 1.0)
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
    """A histogram of the elements, or of their weights: with `bins` equal bins over a range, or
    between the given edges. `density` normalises it to integrate to 1.

    >>> infinicore.histogram(infinicore.tensor([1., 2., 1.]), 4, range=(0., 3.)).hist
    tensor([0., 2., 1., 0.])
    """
    need_tensor("histogram", "input", input)
    if isinstance(bins, Tensor):
        edges = bins.clone()
    else:
        low, high = map(float, range) if range else (0.0, 0.0)
        low, high = _range_of("histogram", input, low, high, 0.5)
        edges = linspace(low, high, int(bins) + 1, dtype=input.dtype, device=input.device)
    made = _histogram(input, edges, weight, density)
    result = Histogram(made, edges)
    return result if out is None else write("histogram", out, result)


@function
def _histogram(input: Tensor, edges: Tensor, weight: Any, density: bool) -> Tensor:
    flat, count = input.reshape(input.numel()), edges.shape[0] - 1
    at = emit("sub", emit("searchsorted", edges, flat, right=True), 1)
    # The last bin includes its right edge.
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
