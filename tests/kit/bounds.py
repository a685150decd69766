"""Error bounds of results, derived from the arithmetic.

16-bit results are computed in float32 and rounded once, like their references, so they differ by at
most one ulp. Before that each of `length` operations may have an error of one ulp of the
arithmetic, at the magnitude of the summed terms. A function of several operators rounds to the
element type between them: half an ulp each, at the magnitude of the terms.
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
    """The bound of each element. `terms`: sums of the absolute values of all terms; by default the
    largest result. `roundings`: the number of roundings to the element type before the last one."""
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
    """Asserts that shapes and types are equal, and all elements within their bounds."""
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
