"""Elementwise operations on the bits of integers; elementwise.py has `bitwise_right_shift`."""

from __future__ import annotations

from ...language.expression import Array
from ...language.model import operator
from .arithmetic import BINARY_INTEGERS

BITS = """
    out c I*|BOOL [*S]
    a     =c      [*S]
    b     =c      [*S]
"""


@operator("BitwiseAnd(!c, a, b)", BITS, public="bitwise_and(input, other)")
def bitwise_and(a: Array, b: Array) -> Array:
    """The bits that are set in both."""
    return a & b


@operator("BitwiseOr(!c, a, b)", BITS, public="bitwise_or(input, other)")
def bitwise_or(a: Array, b: Array) -> Array:
    """The bits that are set in one or both."""
    return a | b


@operator("BitwiseXor(!c, a, b)", BITS, public="bitwise_xor(input, other)")
def bitwise_xor(a: Array, b: Array) -> Array:
    """The bits that are set in one alone."""
    return a ^ b


@operator(
    "BitwiseNot(!y, x)",
    """
    out y I* [*S]
    x     =y [*S]
    """,
)
def bitwise_not(x: Array) -> Array:
    """The bits that are not set; `logical_not` is for BOOL."""
    return ~x


@operator("BitwiseLeftShift(!c, a, b)", BINARY_INTEGERS, public="bitwise_left_shift(input, other)")
def bitwise_left_shift(a: Array, b: Array) -> Array:
    """a shifted left by b bits. A count that is negative, or as large as the number of bits,
    shifts everything out: 0."""
    return a << b
