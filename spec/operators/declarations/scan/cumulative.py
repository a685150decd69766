"""Running sums, products and extremes along a dimension."""

from __future__ import annotations

from typing import Any

from ...language.expression import Array
from ...language.model import operator

# A tensor without dimensions is a line of one element.
_WITHIN = "dim >= -max(len(S), 1); dim < max(len(S), 1)"

_SUMS = """
    out output +input     [*S]
    input      F+|I*|BOOL [*S]
"""


def _accumulate(ufunc: str, input: Array, dim: int) -> Array:
    """Integers and truth values become int64, and wrap."""
    import numpy as np

    whole = np.asarray(input).dtype.kind != "f"
    lines = np.atleast_1d(input).astype(np.int64) if whole else np.atleast_1d(input)
    with np.errstate(all="ignore"):
        return getattr(np, ufunc).accumulate(lines, axis=dim).reshape(np.shape(input))


@operator(
    "CumSum(!output, input, int dim)",
    _SUMS,
    where=_WITHIN,
    kernel="cumulative",
    complex_as="parts",
)
def cumsum(input: Array, *, dim: int) -> Array:
    """The sum of all elements up to each one along a dimension. Integers wrap."""
    return _accumulate("add", input, dim)


@operator("CumProd(!output, input, int dim)", _SUMS, where=_WITHIN, kernel="cumulative")
def cumprod(input: Array, *, dim: int) -> Array:
    """The product of all elements up to each one along a dimension. Integers wrap."""
    return _accumulate("multiply", input, dim)


_EXTREMES = """
    out values  F+|I*|BOOL [*S]
    out indices I64        [*S]
    input       =values    [*S]
"""


def _running(input: Array, dim: int, reaches: Any) -> tuple[Array, Array]:
    """The extremes so far and where they stood; `reaches(x, best)`: is x as good?"""
    import numpy as np

    lines = np.moveaxis(np.atleast_1d(input), dim, 0)
    values, indices = lines.copy(), np.zeros(lines.shape, np.int64)
    for i in range(1, len(lines)):
        taken = reaches(lines[i], values[i - 1])
        if lines.dtype.kind == "f":
            taken = taken | np.isnan(lines[i])
        values[i] = np.where(taken, lines[i], values[i - 1])
        indices[i] = np.where(taken, i, indices[i - 1])
    shape = np.shape(input)
    return np.moveaxis(values, 0, dim).reshape(shape), np.moveaxis(indices, 0, dim).reshape(shape)


@operator(
    "CumMax(!values, !indices, input, int dim)",
    _EXTREMES,
    where=_WITHIN,
    kernel="cumulative_extremes",
    public="""
    cummax(input, dim) -> Ordered
        The largest elements so far along a dimension, and their indices.

        >>> infinicore.cummax(infinicore.tensor([1, 3, 2]), 0).values
        tensor([1, 3, 3])
    """,
)
def cummax(input: Array, *, dim: int) -> tuple[Array, Array]:
    """The largest of all elements up to each one along a dimension, and its index: the last of
    equal ones. A NaN is larger than everything, and the last one counts."""
    return _running(input, dim, lambda x, best: x >= best)


@operator(
    "CumMin(!values, !indices, input, int dim)",
    _EXTREMES,
    where=_WITHIN,
    kernel="cumulative_extremes",
    public="""
    cummin(input, dim) -> Ordered
        The smallest elements so far along a dimension, and their indices.

        >>> infinicore.cummin(infinicore.tensor([3, 1, 2]), 0).values
        tensor([3, 1, 1])
    """,
)
def cummin(input: Array, *, dim: int) -> tuple[Array, Array]:
    """The smallest of all elements up to each one along a dimension, and its index: the last of
    equal ones. A NaN is smaller than everything, and the last one counts."""
    return _running(input, dim, lambda x, best: x <= best)
