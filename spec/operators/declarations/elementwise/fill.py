"""Tensors of given numbers, and numbers of another element type."""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.folds import position
from ...language.model import operator


@operator(
    "Cast(!y, x)",
    """
    out y PLAIN [*S]
    x     PLAIN [*S]
    """,
    rounds=True,
)
def cast(x: Array, *, dtypes: dict[str, str]) -> Array:
    """x in the element type of y. Floats are rounded to nearest, and truncated to integers with
    saturation; NaN becomes 0. Integers keep their lowest bits. As BOOL, nonzero values are true."""
    return fn.converted(x, dtypes["y"])


@operator(
    "Fill(!y, double value)",
    """
    out y PLAIN [*S]
    """,
)
def fill(*, value: float, shapes: dict[str, Array], dtypes: dict[str, str]) -> Array:
    """The value everywhere; without its fraction for integers and BOOL."""
    return fn.full(shapes["y"], fn.given(value, dtypes["y"]))


@operator(
    "Arange(!y, double start, double step)",
    """
    out y F+|F8|I* [N]
    """,
    wide=True,
)
def arange(*, start: float, step: float, shapes: dict[str, Array], dtypes: dict[str, str]) -> Array:
    """start + step * i for each index i, computed in F64; integers exactly, with start and step
    without their fractions."""
    start, step = fn.given(start, dtypes["y"]), fn.given(step, dtypes["y"])
    return start + step * position(fn.full(shapes["y"], 0))
