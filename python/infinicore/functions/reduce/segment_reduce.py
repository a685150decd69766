"""Reductions of segments of a dimension."""

from __future__ import annotations

import math
from typing import Any

import infinicore
from infinicore._dtype import int64
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, expect, integers
from infinicore.functions._index_checks import is_known
from infinicore.functions._operands import counting

_WAYS = {"sum": "sum", "mean": "sum", "prod": "prod", "max": "amax", "min": "amin"}
_STARTS = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -math.inf, "min": math.inf}


@function
def _reduced(data: Tensor, reduce: str, ends: Tensor, axis: int, initial: Any) -> Tensor:
    """Reduces the segments that end before `ends` [*data.shape[:axis], segments]."""
    size, count = data.shape[axis], ends.shape[-1]
    lead, tail = tuple(data.shape[:axis]), tuple(data.shape[axis + 1 :])
    places = counting(size, data).expand(*lead, size).contiguous()
    # Elements after the last segment go to an extra one, which is dropped.
    which = infinicore.searchsorted(ends, places, right=True)
    which = which.reshape(*lead, size, *[1] * len(tail)).expand(*data.shape)
    start = _STARTS[reduce] if initial is None else float(initial)
    kind: Any = {"dtype": data.dtype, "device": data.device}
    made = infinicore.full((*lead, count + 1, *tail), start, **kind)
    made = made.scatter_reduce(axis, which, data, _WAYS[reduce]).narrow(axis, 0, count)
    if reduce != "mean":
        return made.contiguous()
    lengths = ends.diff(dim=-1, prepend=infinicore.zeros_like(ends[..., :1]))
    lengths = lengths.reshape(*lead, count, *[1] * len(tail))
    if initial is None:
        return made / lengths
    return infinicore.where(lengths > 0, made / lengths, made)


def segment_reduce(
    data: Tensor,
    reduce: str,
    *,
    lengths: Tensor | None = None,
    indices: Tensor | None = None,
    offsets: Tensor | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: Any = None,
) -> Tensor:
    """The sum, mean, max, min or prod of the segments of dimension `axis`, whose `lengths`
    [..., segments] or `offsets` [..., segments + 1] are given. `initial` is part of each.

    >>> x = infinicore.tensor([1., 2., 4.])
    >>> infinicore.segment_reduce(x, "sum", lengths=infinicore.tensor([2, 1]))
    tensor([3., 4.])
    """
    name = "segment_reduce"
    expect(reduce in _WAYS, name, "reduce", repr(reduce), f"one of {', '.join(_WAYS)}")
    if indices is not None:
        raise RuntimeError(f"{name}: indices is given: expected lengths or offsets")
    if (lengths is None) == (offsets is None):
        raise RuntimeError(f"{name}: expected one of lengths and offsets")
    axis = dim_of(name, data, axis, "axis")
    if lengths is not None:
        sizes = integers(name, "lengths", lengths)
        if not unsafe and is_known(sizes) and sizes.numel():
            least, total = sizes.min().item(), sizes.sum(-1)
            expect(least >= 0, name, "the least of lengths", least, "0 or more")
            whole = data.shape[axis]
            fits = bool((total == whole).all().item())
            expect(fits, name, "the sum of lengths", total.tolist(), f"{whole}")
        ends = sizes.cumsum(-1)
        return _reduced(data, reduce, ends, axis, initial)
    bounds = integers(name, "offsets", offsets)
    return _reduced(data, reduce, bounds[..., 1:].to(int64).contiguous(), axis, initial)
