"""Running values and differences along an axis."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator


@operator(
    "LogCumSumExp(!y, x, int axis, int exclusive, int reverse)",
    """
    out y  F+  [*S]
    x      =y  [*S]
    """,
    where="axis >= 0; axis < len(S)",
    kernel=True,
)
def logcumsumexp(x: Array, *, axis: int, exclusive: int, reverse: int) -> Array:
    """log(sum(exp(x))) over all elements up to each one along an axis.

    `exclusive` leaves the element itself out, so that the first result is -inf; `reverse` goes from
    the end to the beginning."""
    import numpy as np

    lines = np.moveaxis(x, axis, 0)
    lines = lines[::-1] if reverse else lines
    with np.errstate(all="ignore"):
        running = np.logaddexp.accumulate(lines, axis=0)
    if exclusive:
        running = np.concatenate([np.full_like(running[:1], -np.inf), running[:-1]])
    running = running[::-1] if reverse else running
    return np.moveaxis(running, 0, axis)


@operator(
    "Diff(!y, x, int dim, int n)",
    """
    out y  F+  [*Y]
    x      =y  [*X]
    """,
    where="len(Y) == len(X); n >= 0; dim >= -len(X); dim < len(X)",
    lowered=True,
    sizes={"Y": "replaced(X, dim, max(X[dim] - n, 0))"},
    complex_as="parts",
)
def diff(x: Array, *, dim: int, n: int) -> Array:
    """The n-th forward difference along a dimension, which loses n elements."""
    import numpy as np

    return np.diff(x, n, dim)
