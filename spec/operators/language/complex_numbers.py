"""Complex numbers as pairs of expressions, so that definitions written for real numbers can also be
traced for complex ones.

    z = Complex(x, y)
    (z * z + 1.0).real            # an expression of x and y

Each function of expression.py that has a complex form has a rule here. Infinities, NaN and signs of
zeros come out as C99 says for the positive half planes, as the array API asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import expression as fn

Rule = Callable[..., Any]
RULES: dict[str, Rule] = {}
_LN2, _LN10 = math.log(2.0), math.log(10.0)
_HALF_PI = math.pi / 2


class Complex:
    """real + imag * i. Both parts are nodes, or both are arrays."""

    __array_ufunc__ = None  # NumPy defers mixed arithmetic to this class

    def __init__(self, real: Any, imag: Any):
        self.real, self.imag = real, imag

    def __add__(self, other: Any) -> Any:
        return apply("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return apply("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return apply("sub", self, other)

    def __rsub__(self, other: Any) -> Any:
        return apply("sub", other, self)

    def __mul__(self, other: Any) -> Any:
        return apply("mul", self, other)

    def __rmul__(self, other: Any) -> Any:
        return apply("mul", other, self)

    def __truediv__(self, other: Any) -> Any:
        return apply("div", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return apply("div", other, self)

    def __neg__(self) -> Any:
        return apply("neg", self)


def apply(name: str, *operands: Any) -> Any:
    """A function of expression.py with complex operands; real ones count as complex."""
    if name not in RULES:
        raise TypeError(f"{name} has no complex form")
    return RULES[name](*map(lift, operands))


def lift(value: Any) -> Complex:
    return value if isinstance(value, Complex) else Complex(value, None)


def choose(condition: Any, a: Complex, b: Complex) -> Complex:
    return Complex(fn.where(condition, a.real, b.real), fn.where(condition, _imag(a), _imag(b)))


def _imag(z: Complex) -> Any:
    """The imaginary part; None for real numbers, so that nothing is computed with it."""
    return 0.0 if z.imag is None else z.imag


def rule(function: Rule) -> Rule:
    RULES[function.__name__.rstrip("_")] = function
    return function


def _times_i(z: Complex) -> Complex:
    return Complex(-z.imag, z.real)


def _times_minus_i(z: Complex) -> Complex:
    return Complex(z.imag, -z.real)


def _is_finite(x: Any) -> Any:
    return fn.negate(fn.either(fn.isinf(x), fn.isnan(x)))


def _has_infinity(z: Complex) -> Any:
    return fn.either(fn.isinf(z.real), fn.isinf(z.imag))


def _is_zero(x: Any) -> Any:
    return fn.equal(x, 0.0)


# ---- Arithmetic ---------------------------------------------------------------------------------


@rule
def add(a: Complex, b: Complex) -> Complex:
    if a.imag is None or b.imag is None:
        return Complex(a.real + b.real, a.imag if b.imag is None else b.imag)
    return Complex(a.real + b.real, a.imag + b.imag)


@rule
def sub(a: Complex, b: Complex) -> Complex:
    if b.imag is None:
        return Complex(a.real - b.real, a.imag)
    return Complex(a.real - b.real, -b.imag if a.imag is None else a.imag - b.imag)


@rule
def neg(z: Complex) -> Complex:
    return Complex(-z.real, -z.imag)


@rule
def mul(a: Complex, b: Complex) -> Complex:
    if a.imag is None:
        return Complex(a.real * b.real, a.real * b.imag)
    if b.imag is None:
        return Complex(a.real * b.real, a.imag * b.real)
    return Complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


@rule
def div(a: Complex, b: Complex) -> Complex:
    """Smith's method: divided by the larger part first, so that no square overflows."""
    if b.imag is None:
        return Complex(a.real / b.real, a.imag / b.real)
    c, d = b.real, b.imag
    wide = fn.absolute(d) <= fn.absolute(c)
    large, small = fn.where(wide, c, d), fn.where(wide, d, c)
    zero = _is_zero(large)
    ratio = fn.where(zero, 0.0, small / fn.where(zero, 1.0, large))
    # Division by zero divides by its absolute value: infinite, or NaN for 0.
    scale = fn.where(zero, fn.absolute(large), large + small * ratio)
    x, y = a.real, _imag(a)
    p = fn.where(wide, x + y * ratio, x * ratio + y)
    q = fn.where(wide, y - x * ratio, y * ratio - x)
    return Complex(p / scale, fn.where(zero, y, q) / scale)


@rule
def absolute(z: Complex) -> Any:
    return fn.hypot(z.real, z.imag)


@rule
def equal(a: Complex, b: Complex) -> Any:
    return fn.both(fn.equal(a.real, b.real), fn.equal(_imag(a), _imag(b)))


@rule
def isnan(z: Complex) -> Any:
    return fn.either(fn.isnan(z.real), fn.isnan(z.imag))


@rule
def isinf(z: Complex) -> Any:
    return _has_infinity(z)


# ---- Exponentials and logarithms ----------------------------------------------------------------


@rule
def exp(z: Complex) -> Complex:
    return _exponential(z, fn.exp(z.real), fn.exp(z.real) * fn.cos(z.imag), 0.0)


@rule
def expm1(z: Complex) -> Complex:
    x, y = z.real, z.imag
    half = fn.sin(y * 0.5)
    real = fn.expm1(x) * fn.cos(y) - 2.0 * half * half
    real = fn.where(fn.isinf(fn.exp(x)), fn.exp(x) * fn.cos(y), real)  # the same, and no NaN
    return _exponential(z, fn.expm1(x), real, -1.0)


def _exponential(z: Complex, on_axis: Any, real: Any, below: float) -> Complex:
    """The common part of e^z and e^z - 1: real numbers stay real; `below` is the value at -inf."""
    x, y = z.real, z.imag
    flat, lost = _is_zero(y), fn.negate(_is_finite(y))
    gone, high = fn.both(fn.isinf(x), x < 0.0), fn.both(fn.isinf(x), x > 0.0)
    real = fn.where(flat, on_axis, fn.where(fn.both(lost, high), x, real))
    imag = fn.where(flat, y, fn.exp(x) * fn.sin(y))
    away = fn.both(gone, lost)
    return Complex(fn.where(away, below, real), fn.where(away, 0.0, imag))


@rule
def exp2(z: Complex) -> Complex:
    return exp(mul(z, Complex(_LN2, None)))  # type: ignore[no-any-return]


def _log_size(x: Any, y: Any) -> Any:
    """log(hypot(x, y)) without overflow, accurate near 1."""
    a, b = fn.absolute(x), fn.absolute(y)
    large, small = fn.maximum(a, b), fn.minimum(a, b)
    zero = _is_zero(large)
    ratio = small / fn.where(zero, 1.0, large)
    far = fn.log(large) + 0.5 * fn.log1p(ratio * ratio)
    near = 0.5 * fn.log1p((large - 1.0) * (large + 1.0) + small * small)
    made = fn.where(fn.both(large > 0.5, large < 2.0), near, far)
    return fn.where(fn.either(fn.isinf(x), fn.isinf(y)), math.inf, made)


@rule
def log(z: Complex) -> Complex:
    return Complex(_log_size(z.real, z.imag), fn.atan2(z.imag, z.real))


@rule
def log2(z: Complex) -> Complex:
    return mul(log(z), Complex(1.0 / _LN2, None))  # type: ignore[no-any-return]


@rule
def log10(z: Complex) -> Complex:
    return mul(log(z), Complex(1.0 / _LN10, None))  # type: ignore[no-any-return]


@rule
def log1p(z: Complex) -> Complex:
    x, y = z.real, z.imag
    near = 0.5 * fn.log1p(x * (2.0 + x) + y * y)
    close = fn.maximum(fn.absolute(x), fn.absolute(y)) < 0.5
    return Complex(fn.where(close, near, _log_size(1.0 + x, y)), fn.atan2(y, 1.0 + x))


@rule
def sqrt(z: Complex) -> Complex:
    x, y = z.real, z.imag
    # Scaled by 1/8, so that the sum does not overflow.
    root = 2.0 * fn.sqrt(fn.absolute(x) * 0.125 + fn.hypot(x * 0.125, y * 0.125))
    zero = _is_zero(root)
    other = fn.absolute(y) / (2.0 * fn.where(zero, 1.0, root))
    right = fn.negate(fn.signbit(x))
    real = fn.where(right, root, other)
    imag = fn.copysign(fn.where(right, other, root), y)
    tall, wide = fn.isinf(y), fn.isinf(x)
    real = fn.where(tall, math.inf, fn.where(wide, fn.where(right, x, y * 0.0), real))
    real = fn.where(fn.both(wide, fn.both(fn.negate(right), _is_finite(y))), 0.0, real)
    far = fn.where(right, y * 0.0, fn.copysign(math.inf, y))
    imag = fn.where(tall, y, fn.where(wide, far, imag))
    return Complex(real, fn.where(fn.both(fn.isnan(y), right), y, imag))


@rule
def rsqrt(z: Complex) -> Complex:
    return div(Complex(1.0, None), sqrt(z))  # type: ignore[no-any-return]


@rule
def power(a: Complex, b: Complex) -> Complex:
    """e^(b log a); powers of 0 are 0, its 0th is 1."""
    b = Complex(b.real, _imag(b))
    a = Complex(a.real, _imag(a))
    made = exp(mul(b, log(a)))
    zero = fn.both(_is_zero(a.real), _is_zero(a.imag))
    one = fn.both(_is_zero(b.real), _is_zero(b.imag))
    at_zero = fn.where(b.real > 0.0, 0.0, a.real / a.real)  # NaN
    real = fn.where(one, 1.0, fn.where(zero, at_zero, made.real))
    return Complex(real, fn.where(one, 0.0, fn.where(zero, at_zero, made.imag)))


# ---- Trigonometric and hyperbolic functions
# --------------------------------------------------------


@rule
def sinh(z: Complex) -> Complex:
    x, y = z.real, z.imag
    lost = fn.negate(_is_finite(y))
    real = fn.where(_is_zero(x), x, fn.sinh(x) * fn.cos(y))
    real = fn.where(fn.both(fn.isinf(x), lost), x, real)
    return Complex(real, fn.where(_is_zero(y), y, fn.cosh(x) * fn.sin(y)))


@rule
def cosh(z: Complex) -> Complex:
    x, y = z.real, z.imag
    lost = fn.negate(_is_finite(y))
    real = fn.where(fn.both(fn.isinf(x), lost), fn.absolute(x), fn.cosh(x) * fn.cos(y))
    imag = fn.where(_is_zero(x), x, fn.sinh(x) * fn.sin(y))
    flat = fn.where(fn.signbit(x), -y, y)
    return Complex(real, fn.where(_is_zero(y), flat, imag))


@rule
def tanh(z: Complex) -> Complex:
    x, y = z.real, z.imag
    far = fn.absolute(x) > 20.0
    near = fn.where(far, 0.0, x)  # so that nothing overflows
    sine, cosine, s = fn.sin(y), fn.cos(y), fn.sinh(near)
    below = s * s + cosine * cosine
    real = fn.where(far, fn.copysign(1.0, x), s * fn.cosh(near) / below)
    small = 4.0 * sine * cosine * fn.exp(-2.0 * fn.absolute(x))
    imag = fn.where(far, small, sine * cosine / below)
    imag = fn.where(fn.isinf(x), fn.copysign(0.0, y), imag)
    lost = fn.both(fn.negate(_is_finite(y)), fn.negate(fn.isinf(x)))
    real = fn.where(_is_zero(x), x, fn.where(lost, y - y, real))
    return Complex(real, fn.where(_is_zero(y), y, imag))


@rule
def sin(z: Complex) -> Complex:
    return _times_minus_i(sinh(_times_i(z)))


@rule
def cos(z: Complex) -> Complex:
    return cosh(_times_i(z))  # type: ignore[no-any-return]


@rule
def tan(z: Complex) -> Complex:
    return _times_minus_i(tanh(_times_i(z)))


# ---- Their inverses, by Kahan's formulas --------------------------------------------------------


@rule
def acos(z: Complex) -> Complex:
    x, y = z.real, z.imag
    low, high = sqrt(Complex(1.0 - x, -y)), sqrt(Complex(1.0 + x, y))
    real = 2.0 * fn.atan2(low.real, high.real)
    imag = fn.asinh(high.real * low.imag - high.imag * low.real)
    infinite = _has_infinity(z)
    real = fn.where(infinite, fn.atan2(fn.absolute(y), x), real)
    real = fn.where(fn.both(_is_zero(x), fn.isnan(y)), _HALF_PI, real)
    return Complex(real, fn.where(infinite, fn.copysign(math.inf, -y), imag))


@rule
def acosh(z: Complex) -> Complex:
    made = acos(z)
    return Complex(fn.absolute(made.imag), fn.copysign(made.real, z.imag))


@rule
def asinh(z: Complex) -> Complex:
    x, y = z.real, z.imag
    # asin of iz, whose roots are those of 1 + y - ix and 1 - y + ix
    low, high = sqrt(Complex(1.0 + y, -x)), sqrt(Complex(1.0 - y, x))
    real = fn.asinh(low.real * high.imag - low.imag * high.real)
    imag = fn.atan2(y, low.real * high.real - low.imag * high.imag)
    infinite = _has_infinity(z)
    real = fn.where(infinite, fn.copysign(math.inf, x), real)
    imag = fn.where(infinite, fn.atan2(y, fn.absolute(x)), imag)
    return Complex(real, fn.where(fn.both(_is_zero(y), fn.isnan(x)), y, imag))


@rule
def asin(z: Complex) -> Complex:
    return _times_minus_i(asinh(_times_i(z)))


@rule
def atanh(z: Complex) -> Complex:
    x, y = z.real, z.imag
    a, b = fn.absolute(x), fn.absolute(y)
    large = fn.maximum(a, b)
    far = large > 1e8
    p, q = fn.where(far, 0.0, a), fn.where(far, 0.0, b)
    real = 0.25 * fn.log1p(4.0 * p / ((1.0 - p) * (1.0 - p) + q * q))
    imag = 0.5 * fn.atan2(2.0 * q, (1.0 - p) * (1.0 + p) - q * q)
    ratio = fn.minimum(a, b) / fn.where(far, large, 1.0)
    tiny = (a / fn.where(far, large, 1.0)) / (fn.where(far, large, 1.0) * (1.0 + ratio * ratio))
    infinite = _has_infinity(z)
    real = fn.where(infinite, 0.0, fn.where(far, tiny, real))
    angle = fn.where(fn.isnan(y), y, _HALF_PI)
    imag = fn.where(fn.either(infinite, far), angle, imag)
    real = fn.where(_is_zero(x), x, fn.copysign(real, x))
    return Complex(real, fn.copysign(imag, y))


@rule
def atan(z: Complex) -> Complex:
    return _times_minus_i(atanh(_times_i(z)))
