"""Modified Bessel functions of the first kind: by power series, whose terms are positive, and by
asymptotic series beyond."""

from __future__ import annotations

import math

from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import floats, wide_floats

__all__ = ["i0"]

_FAR = 20.0  # from here on asymptotic series have all bits
_TERMS = 64


def polynomial(x: Tensor, coefficients: list[float]) -> Tensor:
    """From the constant on."""
    made = tensor_for(coefficients[-1], x.dtype, x.device).expand(*x.shape)
    for each in coefficients[-2::-1]:
        made = emit("add", emit("mul", made, x), each)
    return made


def _series(order: int) -> list[float]:
    """Of I_order(x) / (x / 2)^order, in (x / 2)^2."""
    return [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(_TERMS)]


def asymptotic(order: int, count: int) -> list[float]:
    """a_k of Hankel's series, in 1 / x."""
    made, mu = [1.0], 4.0 * order * order
    for k in range(1, count):
        made.append(made[-1] * (mu - (2 * k - 1) ** 2) / (8 * k))
    return made


def modified(x: Tensor, order: int, scaled: bool) -> Tensor:
    """I_order(x), or that times e^-|x|."""
    size = emit("abs", x)
    near = emit("minimum", size, _FAR)
    half = emit("mul", near, 0.5)
    value = polynomial(emit("mul", half, half), _series(order))
    value = emit("mul", value, half) if order else value
    if scaled:
        value = emit("mul", value, emit("exp", emit("neg", near)))
    far = emit("maximum", size, _FAR)
    signs = [(-1) ** k * a for k, a in enumerate(asymptotic(order, 24))]
    tail = polynomial(emit("reciprocal", far), signs)
    tail = emit("div", tail, emit("sqrt", emit("mul", far, 2 * math.pi)))
    if not scaled:
        # In two steps, since e^x overflows before the quotient does.
        step = emit("exp", emit("mul", far, 0.5))
        tail = emit("mul", emit("mul", tail, step), step)
    made = emit("where", emit("less", size, _FAR), value, tail)
    made = emit("where", emit("isnan", x), x, made)
    return emit("copysign", made, x) if order else made


@function
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0.

    >>> infinicore.i0(infinicore.zeros(1))
    tensor([1.])
    """
    return cast_to(modified(wide_floats(input), 0, False), floats(input).dtype)
