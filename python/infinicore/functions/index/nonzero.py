"""Where elements are not 0: the values decide about the sizes of results."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._device import device
from infinicore._dtype import bool_, int64
from infinicore._function import write
from infinicore._mask_indices import mask_indices
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, integers, need_tensor
from infinicore.functions._index_checks import check_indices
from infinicore.functions.copy.cat import stack

_CPU = device("cpu")

__all__ = ["argwhere", "nonzero", "unravel_index"]


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
        made = input.new_empty(count, 0, dtype=int64)
        return made if out is None else write("nonzero", out, made)
    if input.device is _CPU and not as_tuple:
        rows = _core.argwhere(input)
        return rows if out is None else write("nonzero", out, rows)
    found = mask_indices(input if input.dtype is bool_ else input != 0)
    if as_tuple:
        return tuple(found)
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
    name = "unravel_index"
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    expect(all(size >= 0 for size in sizes), name, "shape", sizes, "sizes of 0 or more")
    indices = integers(name, "indices", indices)
    check_indices(name, indices, math.prod(sizes), 0, wraps=True)
    made: list[Tensor] = []
    for size in reversed(sizes):
        made.append(indices % size)
        indices = indices // size
    return tuple(reversed(made))
