"""Elementwise rounding to whole numbers, and the parts that floats are made of. elementwise.py has
`floor`."""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from .arithmetic import UNARY_NUMBERS


@operator("Ceil(!y, x)", UNARY_NUMBERS, public="ceil(input)")
def ceil(x: Array) -> Array:
    """The smallest whole number that is not below x; integers are left as they are."""
    return fn.ceil(x)


@operator("Round(!y, x)", UNARY_NUMBERS)
def round(x: Array) -> Array:
    """The nearest whole number, ties to even; integers are left as they are."""
    return fn.nearest(x)


@operator("Trunc(!y, x)", UNARY_NUMBERS, public="trunc fix(input)")
def trunc(x: Array) -> Array:
    """x without its fraction; integers are left as they are."""
    return fn.trunc(x)


@operator(
    "Frexp(!mantissa, !exponent, x)",
    """
    out mantissa F+        [*S]
    out exponent I32       [*S]
    x            =mantissa [*S]
    """,
    public="""
    frexp(input) -> Parts
        Mantissas of size 0.5 to 1 and int32 exponents: input = mantissa * 2 ** exponent.

        >>> infinicore.frexp(infinicore.tensor([8.])).exponent
        tensor([4], dtype=infinicore.int32)
    """,
)
def frexp(x: Array) -> tuple[Array, Array]:
    """The parts of x = mantissa * 2^exponent, with a mantissa of size 0.5 to 1. Zeros, infinities
    and NaN are their own mantissas, with exponent 0."""
    return fn.mantissa(x), fn.exponent(x)
