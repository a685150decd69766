"""The normal distribution, the scaled error function, and the derivatives of digamma."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ...language import expression as fn
from ...language.expression import Array
from ...language.model import operator
from .elementwise import UNARY

_ROOT = math.sqrt(0.5)
_BEGIN, _LEVELS = 3.5, 32  # of the continued fraction


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """The highest power comes last."""
    made: Any = coefficients[-1]
    for each in coefficients[-2::-1]:
        made = made * x + each
    return made


def _fraction() -> tuple[list[float], list[float]]:
    """1 + (1/2) u / (1 + (2/2) u / (1 + ...)) as a quotient of polynomials in u."""
    top, bottom = [Fraction(1)], [Fraction(1)]
    for k in range(_LEVELS, 0, -1):
        shifted = [Fraction(0), *(Fraction(k, 2) * each for each in bottom)]
        length = max(len(top), len(shifted))
        padded = [[*some, *[Fraction(0)] * (length - len(some))] for some in (top, shifted)]
        top, bottom = [a + b for a, b in zip(*padded, strict=True)], top
    return [float(each) for each in top], [float(each) for each in bottom]


_TOP, _BOTTOM = _fraction()


def _scaled_erfc(x: Any) -> Any:
    """By its definition for small x, by a continued fraction above."""
    near = fn.exp(x * x) * fn.erfc(x)
    far = fn.maximum(x, _BEGIN)
    u = 1.0 / (far * far)
    fraction = _polynomial(u, _BOTTOM) / (_polynomial(u, _TOP) * far * math.sqrt(math.pi))
    return fn.where(x < _BEGIN, near, fraction)


@operator("Erfcx(!y, x)", UNARY, wide=True)  # in F32 the exponential would lose digits
def erfcx(x: Array) -> Array:
    """e^(x^2) erfc(x), which does not vanish for large x."""
    return _scaled_erfc(x)


@operator("LogNdtr(!y, x)", UNARY)
def log_ndtr(x: Array) -> Array:
    """The logarithm of the probability that a normal variable is below x."""
    scaled = _scaled_erfc(fn.maximum(x * -_ROOT, 0.0))
    low = fn.log(scaled * 0.5) - x * x * 0.5
    high = fn.log1p(fn.erfc(x * _ROOT) * -0.5)
    return fn.where(x < -1.0, low, high)


# Quotients of polynomials (Wichura, 1988), the highest power last: around 1/2 of
# 0.425^2 - (x - 1/2)^2, in the tails of r - 1.6 and r - 5.
_MIDDLE = (
    (3.3871328727963666080, 1.3314166789178437745e2, 1.9715909503065514427e3,
     1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
     3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3,
     2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4,
     5.2264952788528545610e3),
)  # fmt: skip
_TAILS = {
    1.6: (
        (1.42343711074968357734, 4.63033784615654529590, 5.76949722146069140550,
         3.64784832476320460504, 1.27045825245236838258, 2.41780725177450611770e-1,
         2.27238449892691845833e-2, 7.74545014278341407640e-4),
        (1.0, 2.05319162663775882187, 1.67638483018380384940, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
         1.05075007164441684324e-9),
    ),
    5.0: (
        (6.65790464350110377720, 5.46378491116411436990, 1.78482653991729133580,
         2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
         2.71155556874348757815e-5, 2.01033439929228813265e-7),
        (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7,
         2.04426310338993978564e-15),
    ),
}  # fmt: skip


@operator("Ndtri(!y, x)", UNARY)
def ndtri(x: Array) -> Array:
    """The quantile of the normal distribution: -inf at 0, inf at 1, NaN outside."""
    q, apart = fn.minimum(x, 1.0 - x), x - 0.5
    inside = 0.180625 - apart * apart
    middle = [_polynomial(inside, each) for each in _MIDDLE]
    # The lower tail is a function of r, and the upper one is symmetric to it.
    r = fn.sqrt(-fn.log(q))
    near, far = ([_polynomial(r - at, each) for each in both] for at, both in _TAILS.items())
    top, bottom = (fn.where(r <= 5.0, *each) for each in zip(near, far, strict=True))
    top = fn.where(x < 0.5, -top, top)
    in_tail = q < 0.075
    made = fn.where(in_tail, top, apart * middle[0]) / fn.where(in_tail, bottom, middle[1])
    made = fn.where(fn.equal(x, 0.0), -math.inf, made)
    return fn.where(fn.equal(x, 1.0), math.inf, made)


# B_2k, from k = 1 on.
_BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6),
    *(-3617 / 510, 43867 / 798, -174611 / 330),
)
_SUMMED = 8  # terms before the asymptotic series


@operator("Trigamma(!y, x)", UNARY, wide=True)
def trigamma(x: Array) -> Array:
    """The derivative of digamma; inf at 0 and at negative integers."""
    below = x < 0.0
    y = fn.where(below, 1.0 - x, x)
    made: Any = 0.0
    for k in range(_SUMMED):
        inverse = 1.0 / (y + k)
        made = made + inverse * inverse
    inverse = 1.0 / (y + _SUMMED)
    u = inverse * inverse
    made = made + inverse * (1.0 + inverse * 0.5 + u * _polynomial(u, _BERNOULLI))
    ratio = math.pi / fn.sin((x - fn.nearest(x)) * math.pi)
    made = fn.where(below, ratio * ratio - made, made)
    return fn.where(fn.both(x <= 0.0, fn.equal(x, fn.floor(x))), math.inf, made)


_LEADING = 7  # terms of the zeta function before the series


def _zeta_above(s: Any, q: Any) -> Any:
    """The sum of (q + k)^-s for q > 0, by the Euler-Maclaurin formula after the first terms."""
    made: Any = 0.0
    for k in range(_LEADING):
        made = made + fn.power(q + k, -s)
    a = q + _LEADING
    power, inverse = fn.power(a, -s), 1.0 / a
    square, rest = inverse * inverse, 0.0
    for k in range(len(_BERNOULLI), 0, -1):
        more = (s + (2.0 * k - 1.0)) * (s + 2.0 * k) * square
        rest = rest * more + _BERNOULLI[k - 1] / math.factorial(2 * k)
    return made + power * (a / (s - 1.0) + 0.5 + s * inverse * rest)


@operator("Polygamma(!y, x, double s, double scale)", UNARY, where="s > 1", wide=True)
def polygamma(x: Array, *, s: float, scale: float) -> Array:
    """scale times the sum of (x + k)^-s over k = 0, 1, ... for a whole number s: the derivative of
    order s - 1 of digamma, where scale is (-1)^s (s - 1)!. Infinite at 0 and negative integers."""
    below = x < 0.0
    rest = x - fn.floor(x)
    made = _zeta_above(s, fn.where(below, rest, x))
    # Terms below 0 are, up to sign, those of two other sums. The first of these is added before the
    # second, because at half-integers it can cancel `made` exactly.
    sign = fn.copysign(1.0, scale)
    more, less = _zeta_above(s, 1.0 - rest), _zeta_above(s, fn.where(below, 1.0 - x, 1.0))
    made = fn.where(below, (made + sign * more) - sign * less, made)
    return fn.where(fn.both(x <= 0.0, fn.equal(x, fn.floor(x))), math.inf, made) * scale
