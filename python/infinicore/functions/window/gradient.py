"""Numerical gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dims_of, expect
from infinicore.functions._operands import floats


def _spacings(spacing: Any, count: int) -> list[Any]:
    """The spacing, or the coordinates, of each dimension."""
    if isinstance(spacing, (tuple, list)):
        expect(len(spacing) == count, "gradient", "the length of spacing", len(spacing), f"{count}")
        return list(spacing)
    if isinstance(spacing, Tensor):
        raise TypeError("gradient: spacing is a tensor: expected a number, or a list of tensors")
    return [1.0 if spacing is None else spacing] * count


def _slope(x: Tensor, dim: int, spacing: Any, edge_order: int) -> Tensor:
    """Central differences, and one-sided differences at both ends."""
    size = x.shape[dim]
    expect(size > edge_order, "gradient", f"size {dim} of input", size, f"{edge_order + 1} or more")

    def at(first: int, last: int) -> Tensor:
        return x.narrow(dim, first % size, (last - first) % size + 1)

    if not isinstance(spacing, Tensor):
        return infinicore.cat(_even_slopes(at, size, spacing, edge_order), dim)
    fits = tuple(spacing.shape) == (size,)
    expect(fits, "gradient", "the shape of a spacing", tuple(spacing.shape), f"[{size}]")
    # Gaps between integers stay integers, so that a gap of 0 has no sign, as in torch.
    gaps = spacing.diff().reshape(-1, *[1] * (x.ndim - dim - 1))
    first, second = gaps[:-1], gaps[1:]
    start, after, before, end = gaps[:1], gaps[1:2], gaps[-2:-1], gaps[-1:]
    parts = []
    if size > 2:
        down = -second / (first * (first + second))
        here = (second - first) / (first * second)
        up = first / (second * (first + second))
        parts = [at(0, -3) * down + at(2, -1) * up + at(1, -2) * here]
    if edge_order == 1:
        left = (at(1, 1) - at(0, 0)) / start
        right = (at(-1, -1) - at(-2, -2)) / end
    else:
        left = (
            at(0, 0) * (-(2 * start + after) / (start * (start + after)))
            + at(1, 1) * ((start + after) / (start * after))
            - at(2, 2) * (start / (after * (start + after)))
        )
        right = (
            at(-1, -1) * ((2 * end + before) / (end * (before + end)))
            - at(-2, -2) * ((before + end) / (before * end))
            + at(-3, -3) * (end / (before * (before + end)))
        )
    return infinicore.cat([left, *parts, right], dim)


def _even_slopes(
    at: Callable[[int, int], Tensor], size: int, gap: float, edge_order: int
) -> list[Tensor]:
    """The same for evenly spaced samples: a spacing of 0 gives infinities, as in torch."""
    parts = [(at(2, -1) - at(0, -3)) / (2 * gap)] if size > 2 else []
    if edge_order == 1:
        left, right = at(1, 1) - at(0, 0), at(-1, -1) - at(-2, -2)
        return [left / gap, *parts, right / gap]
    left = at(1, 1) * 4 - at(0, 0) * 3 - at(2, 2)
    right = at(-1, -1) * 3 - at(-2, -2) * 4 + at(-3, -3)
    return [left / (2 * gap), *parts, right / (2 * gap)]


@function
def gradient(
    input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The gradient of the samples in input along each dimension of `dim` (all by default), as a
    tuple of tensors. `spacing` is the distance between samples, possibly one for each dimension, or
    their coordinates, one tensor for each. At both ends differences of order `edge_order` are used.

    >>> infinicore.gradient(infinicore.tensor([1., 2., 4., 7.]))
    (tensor([1.0000, 1.5000, 2.5000, 3.0000]),)
    """
    expect(edge_order in (1, 2), "gradient", "edge_order", edge_order, "1 or 2")
    dims: Sequence[int] = dims_of("gradient", input, dim)
    pairs = zip(dims, _spacings(spacing, len(dims)), strict=True)
    x = floats(input)
    return tuple(_slope(x, each, step, edge_order) for each, step in pairs)
