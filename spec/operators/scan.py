"""Running values along an axis."""

from __future__ import annotations

from .expression import Array
from .model import operator


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
