"""Elementwise roots, exponentials, logarithms and trigonometry; elementwise.py has the others."""

from __future__ import annotations

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from .elementwise import BINARY, UNARY


@operator("Sqrt(!y, x)", UNARY, public="sqrt(input)", complex_as="form")
def sqrt(x: Array) -> Array:
    """The square root; NaN below 0."""
    return fn.sqrt(x)


@operator("Rsqrt(!y, x)", UNARY, public="rsqrt(input)", complex_as="form")
def rsqrt(x: Array) -> Array:
    """1 / sqrt(x): infinite at 0, NaN below."""
    return fn.rsqrt(x)


@operator("Exp(!y, x)", UNARY, public="exp(input)", complex_as="form")
def exp(x: Array) -> Array:
    """e^x."""
    return fn.exp(x)


@operator("Exp2(!y, x)", UNARY, public="exp2(input)", complex_as="form")
def exp2(x: Array) -> Array:
    """2^x."""
    return fn.exp2(x)


@operator("Expm1(!y, x)", UNARY, public="expm1(input)", complex_as="form")
def expm1(x: Array) -> Array:
    """e^x - 1, accurate near 0."""
    return fn.expm1(x)


@operator("Log(!y, x)", UNARY, public="log(input)", complex_as="form")
def log(x: Array) -> Array:
    """The natural logarithm: -inf at 0, NaN below."""
    return fn.log(x)


@operator("Log2(!y, x)", UNARY, public="log2(input)", complex_as="form")
def log2(x: Array) -> Array:
    """The logarithm to base 2."""
    return fn.log2(x)


@operator("Logit(!y, x)", UNARY)
def logit(x: Array) -> Array:
    """log(x / (1 - x)); NaN outside of [0, 1]."""
    return fn.log(x / (1.0 - x))


@operator("Sin(!y, x)", UNARY, public="sin(input)", complex_as="form")
def sin(x: Array) -> Array:
    """The sine."""
    return fn.sin(x)


@operator("Cos(!y, x)", UNARY, public="cos(input)", complex_as="form")
def cos(x: Array) -> Array:
    """The cosine."""
    return fn.cos(x)


@operator("Cosh(!y, x)", UNARY, public="cosh(input)", complex_as="form")
def cosh(x: Array) -> Array:
    """The hyperbolic cosine."""
    return fn.cosh(x)


@operator("Acosh(!y, x)", UNARY, public="acosh arccosh(input)", complex_as="form")
def acosh(x: Array) -> Array:
    """The inverse hyperbolic cosine; NaN below 1."""
    return fn.acosh(x)


@operator("Atan(!y, x)", UNARY, public="atan arctan(input)", complex_as="form")
def atan(x: Array) -> Array:
    """The inverse tangent, between -pi/2 and pi/2."""
    return fn.atan(x)


@operator("Atan2(!c, a, b)", BINARY, public="atan2 arctan2(input, other)")
def atan2(a: Array, b: Array) -> Array:
    """The angle of the point (b, a), between -pi and pi."""
    return fn.atan2(a, b)


@operator("Lgamma(!y, x)", UNARY, public="lgamma(input)")
def lgamma(x: Array) -> Array:
    """The logarithm of the absolute value of the gamma function: infinite at 0 and at negative
    integers."""
    return fn.lgamma(x)
