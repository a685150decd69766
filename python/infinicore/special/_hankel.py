"""Bessel functions of the second kind and Airy's function: by power series near 0, and beyond by
Hankel's integral, whose trapezoidal sum has all bits with enough points."""

from __future__ import annotations

import math

from infinicore._dtype import float64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import counting, floats
from infinicore.functions.elementwise.bessel import polynomial

__all__ = ["airy_ai", "bessel_y0", "bessel_y1"]

_POINTS = 80
_EULER = 0.57721566490153286061
_NEAR = 2.0  # up to here power series: beyond, their terms cancel
_TERMS = 20


def _double(input: Tensor) -> Tensor:
    return cast_to(floats(input), float64)


def _nodes(order: float, like: Tensor) -> tuple[Tensor, Tensor]:
    """u and weights of the integral of e^-u u^(order - 1/2) f(u), over gamma(order + 1/2): equal
    steps in w with u = e^(w - e^-w), where the integrand vanishes fast at both ends."""
    step = 7.8 / _POINTS
    w = emit("sub", emit("mul", cast_to(counting(_POINTS, like), float64), step), 4.0)
    shrunk = emit("exp", emit("neg", w))
    log = emit("sub", w, shrunk)
    u = emit("exp", log)
    power = emit("exp", emit("sub", emit("mul", log, order + 0.5), u))
    factor = step / math.gamma(order + 0.5)
    return u, emit("mul", emit("mul", power, emit("add", shrunk, 1.0)), factor)


def _hankel(x: Tensor, order: float) -> tuple[Tensor, Tensor]:
    """P and Q: J and Y are sqrt(2 / (pi x)) times (P cos - Q sin) and (P sin + Q cos) of x - order
    pi / 2 - pi / 4."""
    # Each by itself: what both need of the terms would be written to memory.
    return _sum_of(x, order, "cos"), _sum_of(x, order, "sin")


def _sum_of(x: Tensor, order: float, name: str) -> Tensor:
    u, weights = _nodes(order, x)
    half = emit("mul", emit("div", u, x.unsqueeze(-1)), 0.5)
    size = emit("pow", emit("add", emit("mul", half, half), 1.0), (order - 0.5) / 2)
    angle = emit("mul", emit("atan", half), order - 0.5)
    terms = emit("mul", emit("mul", size, weights), emit(name, angle))
    return emit("sum", terms, dim=[terms.ndim - 1])  # type: ignore[no-any-return]


def _decaying(x: Tensor, order: float) -> Tensor:
    """The modified function of the second kind, over sqrt(pi / (2 x)) e^-x."""
    u, weights = _nodes(order, x)
    base = emit("add", emit("mul", emit("div", u, x.unsqueeze(-1)), 0.5), 1.0)
    terms = emit("mul", emit("pow", base, order - 0.5), weights)
    return emit("sum", terms, dim=[terms.ndim - 1])  # type: ignore[no-any-return]


def _harmonic(k: int) -> float:
    return sum(1 / j for j in range(1, k + 1))


def _near(x: Tensor, order: int) -> Tensor:
    """Y of small x, by its power series."""
    half = emit("mul", x, 0.5)
    square = emit("mul", half, half)
    signs = [(-1) ** k / (math.factorial(k) * math.factorial(k + order)) for k in range(_TERMS)]
    first = polynomial(square, signs)  # J over (x / 2)^order
    sums = [a * (_harmonic(k) + _harmonic(k + order)) / 2 for k, a in enumerate(signs)]
    log = emit("add", emit("log", half), _EULER)
    made = emit("sub", emit("mul", log, first), polynomial(square, sums))
    made = emit("mul", made, 2 / math.pi)
    if order:
        made = emit("sub", emit("mul", made, half), emit("mul", emit("reciprocal", x), 2 / math.pi))
    return made  # type: ignore[no-any-return]


def _second(x: Tensor, order: int) -> Tensor:
    near = _near(emit("minimum", x, _NEAR), order)
    far = emit("maximum", x, _NEAR)
    p, q = _hankel(far, order)
    # sin and cos of x - order pi / 2 - pi / 4, times sqrt(2), from those of x itself
    sine, cosine = emit("sin", far), emit("cos", far)
    s, c = emit("sub", sine, cosine), emit("add", sine, cosine)
    if order:
        s, c = emit("neg", c), s
    tail = emit("add", emit("mul", p, s), emit("mul", q, c))
    tail = emit("div", tail, emit("sqrt", emit("mul", far, math.pi)))
    made = emit("where", emit("less", x, _NEAR), near, tail)
    made = emit("where", emit("isinf", x), 0.0, made)
    made = emit("where", emit("equal", x, 0.0), -math.inf, made)
    bad = emit("logical_or", emit("less", x, 0.0), emit("isnan", x))
    return emit("where", bad, math.nan, made)  # type: ignore[no-any-return]


@function
def bessel_y0(input: Tensor) -> Tensor:
    """The Bessel function of the second kind, order 0; NaN below 0.

    >>> infinicore.special.bessel_y0(infinicore.tensor([1., 0.]))
    tensor([0.0883, -inf])
    """
    return cast_to(_second(_double(input), 0), floats(input).dtype)


@function
def bessel_y1(input: Tensor) -> Tensor:
    """The Bessel function of the second kind, order 1; NaN below 0.

    >>> infinicore.special.bessel_y1(infinicore.tensor([1., 0.]))
    tensor([-0.7812, -inf])
    """
    return cast_to(_second(_double(input), 1), floats(input).dtype)


# Ai and its derivative at 0.
_AI = 1 / (3 ** (2 / 3) * math.gamma(2 / 3))
_AI_SLOPE = -1 / (3 ** (1 / 3) * math.gamma(1 / 3))
_LOW, _HIGH = -2.5, 1.0  # a power series in between


def _airy_series(x: Tensor) -> Tensor:
    even, odd = [_AI], [_AI_SLOPE]
    for k in range(1, _TERMS):
        even.append(even[-1] / ((3 * k - 1) * (3 * k)))
        odd.append(odd[-1] / ((3 * k) * (3 * k + 1)))
    cube = emit("mul", emit("mul", x, x), x)
    return emit("add", polynomial(cube, even), emit("mul", polynomial(cube, odd), x))  # type: ignore[no-any-return]


@function
def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai: the solution of y'' = x y that vanishes for large x.

    >>> infinicore.special.airy_ai(infinicore.tensor([0., 1.]))
    tensor([0.3550, 0.1353])
    """
    x = _double(input)
    near = _airy_series(emit("minimum", emit("maximum", x, _LOW), _HIGH))
    # Of size z: 2/3 z^(3/2) is the argument of Bessel functions of order 1/3.
    above = emit("maximum", x, _HIGH)
    root = emit("sqrt", above)
    argument = emit("mul", emit("mul", above, root), 2 / 3)
    high = emit("mul", _decaying(argument, 1 / 3), emit("exp", emit("neg", argument)))
    high = emit("div", high, emit("mul", emit("sqrt", root), 2 * math.sqrt(math.pi)))
    below = emit("maximum", emit("neg", x), -_LOW)
    root = emit("sqrt", below)
    argument = emit("mul", emit("mul", below, root), 2 / 3)
    p, q = _hankel(argument, 1 / 3)
    sine, cosine = emit("sin", argument), emit("cos", argument)
    low = emit("mul", p, emit("add", sine, cosine))
    low = emit("add", low, emit("mul", q, emit("sub", cosine, sine)))
    low = emit("div", low, emit("mul", emit("sqrt", root), math.sqrt(2 * math.pi)))
    made = emit("where", emit("less", x, _LOW), low, near)
    made = emit("where", emit("less", x, _HIGH), made, high)
    bad = emit("logical_or", emit("isinf", x), emit("isnan", x))
    made = emit("where", bad, tensor_for(math.nan, float64, x.device), made)
    return cast_to(made, floats(input).dtype)
