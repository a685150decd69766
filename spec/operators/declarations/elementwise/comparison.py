"""Elementwise comparison, logic and choice; elementwise.py has `equal`. Nonzero values are true."""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from .elementwise import COMPARE

TEST = """
    out y BOOL       [*S]
    x     F+|I*|BOOL [*S]
"""


# ---- Order --------------------------------------------------------------------------------------


@operator("NotEqual(!c, a, b)", COMPARE, public="ne not_equal(input, other)", complex_as="form")
def not_equal(a: Array, b: Array) -> Array:
    """Whether a differs from b. A NaN differs from everything."""
    return fn.negate(fn.equal(a, b))


@operator("Less(!c, a, b)", COMPARE, public="lt less(input, other)")
def less(a: Array, b: Array) -> Array:
    """Whether a < b; never with NaN."""
    return a < b


@operator("LessEqual(!c, a, b)", COMPARE, public="le less_equal(input, other)")
def less_equal(a: Array, b: Array) -> Array:
    """Whether a <= b; never with NaN."""
    return a <= b


@operator("Greater(!c, a, b)", COMPARE, public="gt greater(input, other)")
def greater(a: Array, b: Array) -> Array:
    """Whether a > b; never with NaN."""
    return a > b


@operator("GreaterEqual(!c, a, b)", COMPARE, public="ge greater_equal(input, other)")
def greater_equal(a: Array, b: Array) -> Array:
    """Whether a >= b; never with NaN."""
    return a >= b


# ---- Tests of one number ------------------------------------------------------------------------


@operator("Isnan(!y, x)", TEST, public="isnan(input)", complex_as="form")
def isnan(x: Array) -> Array:
    """Whether x is NaN; integers never are."""
    return fn.isnan(x)


@operator("Isinf(!y, x)", TEST, public="isinf(input)", complex_as="form")
def isinf(x: Array) -> Array:
    """Whether x is infinite; integers never are."""
    return fn.isinf(x)


@operator("Signbit(!y, x)", TEST, public="signbit(input)")
def signbit(x: Array) -> Array:
    """Whether the sign of x is set: of negative numbers, -0, and some NaN."""
    return fn.signbit(x)


# ---- Logic --------------------------------------------------------------------------------------


@operator("LogicalNot(!y, x)", TEST, public="logical_not(input)", complex_as="truths")
def logical_not(x: Array) -> Array:
    """Whether x is 0."""
    return fn.negate(x)


@operator("LogicalAnd(!c, a, b)", COMPARE, public="logical_and(input, other)", complex_as="truths")
def logical_and(a: Array, b: Array) -> Array:
    """Whether both are not 0. A NaN is not 0."""
    return fn.both(a, b)


@operator("LogicalOr(!c, a, b)", COMPARE, public="logical_or(input, other)", complex_as="truths")
def logical_or(a: Array, b: Array) -> Array:
    """Whether one is not 0, or both."""
    return fn.either(a, b)


@operator("LogicalXor(!c, a, b)", COMPARE, public="logical_xor(input, other)", complex_as="truths")
def logical_xor(a: Array, b: Array) -> Array:
    """Whether exactly one is not 0."""
    return fn.differ(a, b)


@operator(
    "Where(!y, condition, a, b)",
    """
    out y     PLAIN [*S]
    condition BOOL  [*S]
    a         =y    [*S]
    b         =y    [*S]
    """,
    complex_as="parts",
)
def where(condition: Array, a: Array, b: Array) -> Array:
    """a where the condition holds, else b."""
    return fn.where(condition, a, b)


@operator(
    "Heaviside(!y, x, values)",
    """
    out y  F+|I*|BOOL [*S]
    x      =y         [*S]
    values =y         [*S]
    """,
)
def heaviside(x: Array, values: Array) -> Array:
    """0 below 0 (and for NaN), 1 above it, and the values at 0."""
    return fn.where(fn.equal(x, 0), values, fn.less(0, x))
