"""A small set of combinations in which every pair of values occurs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import cache
from typing import Any


@cache
def pairwise(rows: tuple[tuple[Any, ...], ...]) -> tuple[tuple[Any, ...], ...]:
    """A subset of the rows that covers all pairs of values that occur in any row: greedily, the
    next row is the first of those with the most new pairs."""
    missing = {pair for row in rows for pair in _pairs(row)}
    left, chosen = list(rows), []
    most = len(list(_pairs(rows[0]))) if rows else 0
    while missing:
        best, best_gain = left[0], -1
        for row in left:
            gain = sum(pair in missing for pair in _pairs(row))
            if gain > best_gain:
                best, best_gain = row, gain
            if gain == most:
                break
        most = best_gain  # gains only decrease
        chosen.append(best)
        left.remove(best)
        missing.difference_update(_pairs(best))
    return tuple(sorted(chosen, key=rows.index))


def _pairs(row: tuple[Any, ...]) -> Iterator[tuple[int, int, Any, Any]]:
    if len(row) == 1:
        yield 0, 0, row[0], row[0]
    for i, j in itertools.combinations(range(len(row)), 2):
        yield i, j, row[i], row[j]
