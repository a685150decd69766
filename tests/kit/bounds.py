"""How far a result may lie from its reference, derived from the arithmetic.

16-bit results are computed in float32 and rounded once, as their references are: so they are at
most neighbours, one unit in the last place apart. Before that each of `length` operations may have
been off by a unit of the arithmetic, at the size of the terms that were added. A function of
several operators rounds to the element type between them: half a unit each, at the size of the
terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import ref
from .ref.compare import widened

UNITS = {ref.float64: 2.0**-52, ref.float32: 2.0**-23, ref.float16: 2.0**-10, ref.bfloat16: 2.0**-7}


def arithmetic(dtype: Any) -> float:
    return UNITS[ref.float64 if dtype == ref.float64 else ref.float32]


def bound(expected: ref.Tensor, length: int, terms: Any = None, roundings: int = 0) -> Any:
    """For each element. `terms`: sums of the sizes of all terms; without it the largest result
    stands for them. `roundings` to the element type come before the last one."""
    if expected.dtype not in UNITS:
        return np.zeros(expected.shape)
    size = np.abs(widened(expected.array).astype(np.float64))
    finite = np.where(np.isfinite(size), size, 0.0)
    if terms is None:
        terms = finite.max(initial=0.0)
    unit = UNITS[expected.dtype]
    between = length * arithmetic(expected.dtype) + roundings * unit / 2
    return unit * finite + between * terms


def assert_within(got: ref.Tensor, expected: ref.Tensor, allowed: Any, where: str = "") -> None:
    """Shapes and types are the same, and no element is farther off than it may be."""
    assert got.shape == expected.shape, f"{where}shape {got.shape}, expected {expected.shape}"
    assert got.dtype == expected.dtype, f"{where}type {got.dtype}, expected {expected.dtype}"
    one, other = widened(got.array), widened(expected.array)
    with np.errstate(invalid="ignore"):
        wrong = ~((np.abs(one - other) <= allowed) | (one == other))
    wrong &= ~((one != one) & (other != other))
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0])
        limit = float(np.broadcast_to(allowed, wrong.shape)[first])
        raise AssertionError(
            f"{where}{int(wrong.sum())} of {wrong.size} elements differ; the first at {first}: "
            f"{one[first]!r}, expected {other[first]!r} within {limit:.3g}"
        )
