"""Indices of nonzero elements: result sizes depend on the values."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import bool_, int64
from infinicore._function import function, traced, write
from infinicore._mask_indices import first_rows, mask_indices, mask_rows
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, integers, need_tensor
from infinicore.functions._index_checks import check_indices

_CPU = device("cpu")


def nonzero(input: Tensor, *, as_tuple: bool = False, out: Any = None) -> Any:
    """The indices of nonzero elements, as rows, or with `as_tuple` as a tensor for each dimension.
    The result size depends on the values, so this cannot be recorded.

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
        made = input.new_empty(count, 0, dtype=int64)
        return made if out is None else write("nonzero", out, made)
    if input.device is _CPU and (input.ndim == 1 or not as_tuple):
        rows = _core.argwhere(input)
        if as_tuple:
            return (rows.view(rows.shape[0]),)
        return rows if out is None else write("nonzero", out, rows)
    mask = input if input.dtype is bool_ else input != 0
    if as_tuple:
        return tuple(mask_indices(mask))
    made = mask_rows(mask)
    return made if out is None else write("nonzero", out, made)


def argwhere(x: Tensor) -> Tensor:
    """Where elements are not 0: indices as rows.

    >>> infinicore.argwhere(infinicore.tensor([0., 2.]))
    tensor([[1]])
    """
    return nonzero(x)


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Converts flat indices to indices in a shape: a tensor for each dimension.

    >>> infinicore.unravel_index(infinicore.tensor([4]), (2, 3))[0]
    tensor([1])
    """
    name = "unravel_index"
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    expect(all(size >= 0 for size in sizes), name, "shape", sizes, "sizes of 0 or more")
    indices = integers(name, "indices", indices)
    check_indices(name, indices, math.prod(sizes), 0, wraps=True)
    return _unraveled(indices, sizes)


@traced
def _unraveled(indices: Tensor, sizes: tuple[int, ...]) -> tuple[Tensor, ...]:
    made: list[Tensor] = []
    for size in reversed(sizes):
        made.append(indices % size)
        indices = indices // size
    return tuple(reversed(made))


def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Any = None) -> Tensor:
    """The indices of nonzero elements, as exactly `size` rows: truncated, or padded with rows of
    `fill_value`. Unlike `nonzero` it can be recorded.

    >>> infinicore.nonzero_static(infinicore.tensor([0, 5, 7]), size=3).flatten()
    tensor([ 1,  2, -1])
    """
    need_tensor("nonzero_static", "input", input)
    if size <= 0:
        expect(size == 0, "nonzero_static", "size", size, "0 or more")
        made = _core.empty((0, input.ndim), int64, input.device)
        return made if out is None else write("nonzero_static", out, made)  # type: ignore[no-any-return]
    if input.device is not _CPU or not input.ndim or _core.is_recording():
        made = _nonzero_static(input, size, fill_value)
    else:
        made = _padded(_first_rows(input, size), size, fill_value)
    return made if out is None else write("nonzero_static", out, made)  # type: ignore[no-any-return]


def _first_rows(input: Tensor, size: int) -> Tensor:
    """The indices of the first nonzero elements: at least `size` of them, if there are as many."""
    count = input.shape[0]
    # The beginning of a large input often has enough.
    part = (4 * size + 4096) * count // max(input.numel(), 1) + 1
    if part < count // 4:
        found = _core.argwhere(input.narrow(0, 0, part))
        if found.shape[0] >= size:
            return found
    return _core.argwhere(input)


def _padded(found: Tensor, size: int, fill_value: int) -> Tensor:
    """The first `size` rows, followed by rows of `fill_value` if there are fewer."""
    count = found.shape[0]
    if count == size:
        return found
    if count > size:
        return found.narrow(0, 0, size).clone()
    made = found.new_empty(size, found.shape[1])
    made.narrow(0, 0, count).copy_(found)
    made.narrow(0, count, size - count).fill_(fill_value)
    return made


@function
def _nonzero_static(input: Tensor, size: int, fill_value: int) -> Tensor:
    mask = input if input.dtype is bool_ else input != 0
    return first_rows(mask.contiguous(), size, fill_value)
