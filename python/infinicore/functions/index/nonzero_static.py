"""Where elements are not 0, of a size that is known before."""

from __future__ import annotations

from typing import Any

import infinicore
from infinicore._dtype import int64
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect
from infinicore.functions._operands import counting

__all__ = ["nonzero_static"]


@function
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Where elements are not 0, as `size` rows of indices: the first ones, or followed by rows of
    `fill_value`. Unlike `nonzero` it can be recorded.

    >>> infinicore.nonzero_static(infinicore.tensor([0, 5, 7]), size=3).flatten()
    tensor([ 1,  2, -1])
    """
    expect(size >= 0, "nonzero_static", "size", size, "0 or more")
    shape = tuple(input.shape)
    kind: Any = {"dtype": int64, "device": input.device}
    if not shape or not size or not input.numel():
        return infinicore.full((size, len(shape)), fill_value, **kind)
    found = input.reshape(-1) != 0
    rank = found.to(int64).cumsum(0)  # 1 for the first one
    # What is not wanted goes behind the end.
    place = infinicore.where(found & (rank <= size), rank - 1, size)
    places = counting(found.shape[0], input)
    made = infinicore.full((size + 1,), -1, **kind).scatter(0, place, places).narrow(0, 0, size)
    columns = []
    rest = made
    for each in reversed(shape):
        columns.append(infinicore.where(made < 0, fill_value, rest % each))
        rest = rest.div(each, rounding_mode="floor")
    return infinicore.stack(columns[::-1], 1)
