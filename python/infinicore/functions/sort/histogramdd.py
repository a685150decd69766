"""Multidimensional histograms."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import infinicore
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, need_tensor
from infinicore.functions.sort.histogram import _range_of


class HistogramOfPoints(NamedTuple):
    hist: Tensor
    bin_edges: tuple[Tensor, ...]


@function
def _counted(points: Tensor, edges: list[Tensor], weight: Any, density: bool) -> Tensor:
    """The histogram of points [N, D], with the bin edges of each dimension."""
    counts = [each.shape[0] - 1 for each in edges]
    total = math.prod(counts)
    at = infinicore.zeros(points.shape[0], dtype=infinicore.int64, device=points.device)
    inside = at == 0
    for d, (edge, count) in enumerate(zip(edges, counts, strict=True)):
        column = points[:, d].contiguous()
        place = infinicore.searchsorted(edge, column, right=True) - 1
        # The last bin includes its right edge.
        place = infinicore.where(column == edge[-1], count - 1, place)
        inside = inside & (column >= edge[0]) & (column <= edge[-1]) & (place >= 0)
        at = at * count + place
    at = infinicore.where(inside, at, total)
    amount = infinicore.ones_like(points[:, 0]) if weight is None else weight.reshape(-1)
    empty = infinicore.zeros(total + 1, dtype=points.dtype, device=points.device)
    made = empty.scatter_add(0, at, amount.to(points.dtype)).narrow(0, 0, total)
    made = made.reshape(counts)
    if density:
        made = made / made.sum()
        for d, edge in enumerate(edges):
            made = made / edge.diff().reshape(-1, *[1] * (len(edges) - d - 1))
    return made.contiguous()


def histogramdd(
    input: Tensor, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> HistogramOfPoints:
    """The D-dimensional histogram of points input [..., D], or of their weights: `bins` is a number
    of equal bins for all dimensions, or for each, or the edges for each. `range` has the least and
    the largest edge of each dimension. `density` normalises it to integrate to 1.

    >>> infinicore.histogramdd(infinicore.tensor([[0., 1.], [1., 0.], [1., 1.]]), 2).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    name = "histogramdd"
    need_tensor(name, "input", input)
    expect(input.ndim >= 2, name, "input.ndim", input.ndim, "2 or more")
    rank = input.shape[-1]
    points = input.reshape(-1, rank)
    given = [bins] * rank if isinstance(bins, int) else list(bins)
    expect(len(given) == rank, name, "the number of bins", len(given), f"{rank}")
    if range is not None:
        expect(len(range) == 2 * rank, name, "the length of range", len(range), f"{2 * rank}")
    if weight is not None:
        shape, wanted = tuple(weight.shape), tuple(input.shape[:-1])
        expect(shape == wanted, name, "weight.shape", shape, f"{wanted}")
    edges = []
    for d, each in enumerate(given):
        if isinstance(each, Tensor):
            edges.append(each)
            continue
        expect(each > 0, name, "bins", each, "1 or more")
        low, high = (0.0, 0.0) if range is None else map(float, range[2 * d : 2 * d + 2])
        low, high = _range_of(name, points[:, d], low, high, 0.5)
        kind: Any = {"dtype": input.dtype, "device": input.device}
        edges.append(infinicore.linspace(low, high, int(each) + 1, **kind))
    return HistogramOfPoints(_counted(points, edges, weight, bool(density)), tuple(edges))
