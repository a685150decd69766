"""The indices of combinations: those of vectors' elements, and of pairs of rows."""

from __future__ import annotations

import math

import infinicore
from infinicore._tensor import Tensor
from infinicore.functions._operands import counting

FEW = 4096  # indices that a recipe keeps


def combination_count(count: int, r: int, with_replacement: bool = False) -> int:
    """How many combinations of r of `count` elements there are."""
    return math.comb(count + r - 1 if with_replacement and count else count, r)


def combination_indices(count: int, r: int, with_replacement: bool, like: Tensor) -> list[Tensor]:
    """The indices of all combinations, in order, as r vectors. Each combination of fewer indices is
    followed by those that are above its last one."""
    made = [counting(count, like)]
    for _ in range(r - 1):
        first = made[-1] if with_replacement else made[-1] + 1
        many = count - first
        parent = infinicore.repeat_interleave(many)
        begin = many.cumsum(0) - many
        last = counting(parent.numel(), like) + (first - begin)[parent]
        made = [*(each[parent] for each in made), last]
    return made
