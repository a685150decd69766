"""Unique elements."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import bool_, int64
from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._mask_indices import mask_indices, selected
from infinicore._tensor import Tensor
from infinicore.functions._checks import dim_of, need_tensor
from infinicore.functions.copy.cat import cat
from infinicore.functions.index.gather import index_select
from infinicore.functions.sort.sort import argsort, sort

_CPU = device("cpu")


@function
def _new_ones(input: Tensor) -> Tensor:
    """Where an element, or a row, differs from the previous one."""
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


def _placed(which: Tensor, back: Any, shape: Any) -> Tensor:
    """The numbers of sorted elements, at their original positions."""
    if back is not None:
        which = which.new_empty(which.numel()).scatter(0, back, which)
    return which.view(*shape) if shape else which.view(())


def _distinct(rows: Tensor, back: Any, inverse: bool, counts: bool, shape: Any) -> Any:
    """Unique rows, inverse indices, and counts."""
    size = rows.shape[0]
    if size == 0:
        nothing = rows.new_empty(*shape, dtype=int64)
        return rows, nothing, nothing
    flags = _new_ones(rows)
    if not (inverse or counts) and rows.ndim == 1:
        return selected(rows, flags), None, None
    if rows.device is _CPU:
        index, which, lengths = _core.runs_of(flags, inverse, counts)
        made = index_select(rows, 0, index)
        if inverse:
            which = _placed(which, back, shape)
        return made, which, lengths
    index = mask_indices(flags)[0]
    made = index_select(rows, 0, index)
    which = None
    if inverse:
        which = _placed(flags.to(int64).cumsum(0) - 1, back, shape)
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
    """The sorted unique elements (or subtensors along a dimension); optionally inverse indices and
    counts. The result size depends on the values, so this cannot be recorded.

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
        # Sorts by the last column first: sorts are stable, so the first column decides.
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
    """Like `unique`, but only adjacent equal elements are merged, and nothing is sorted.

    >>> infinicore.unique_consecutive(infinicore.tensor([2, 2, 1, 2]))
    tensor([2, 1, 2])
    """
    need_tensor("unique_consecutive", "input", input)
    _core.refuse_while_recording("unique_consecutive")
    if not (return_inverse or return_counts) and input.ndim == 1 and dim in (None, 0):
        return selected(input, _new_ones(input)) if input.shape[0] else input.clone()
    if dim is None:
        rows, shape, at = input.reshape(input.numel()), tuple(input.shape), 0
    else:
        at = dim_of("unique_consecutive", input, dim)
        rows = input.movedim(at, 0) if at else input
        shape = (rows.shape[0],)
    made, which, counts = _distinct(rows, None, return_inverse, return_counts, shape)
    made = made.movedim(0, at) if at else made
    return _chosen(made, which, counts, return_inverse, return_counts)
