"""Bessel functions of the first kind, as means over a circle, which are exact to the last bit with
enough points, and by asymptotic series beyond; and modified ones."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import float64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._operands import counting, floats
from infinicore.functions.elementwise.bessel import asymptotic, i0, modified, polynomial
from infinicore.special._normal import computed, where

__all__ = [
    "bessel_j0",
    "bessel_j1",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "modified_bessel_i0",
    "modified_bessel_i1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]

_POINTS = 96  # on a quarter of the circle, up to x = 30
_WIDE = 30.0


def _back(made: Tensor, like: Tensor) -> Tensor:
    return cast_to(made, floats(like).dtype)


def _modified_function(name: str, order: int, scaled: bool, text: str) -> Any:
    def body(input: Tensor) -> Tensor:
        return _back(modified(computed(input), order, scaled), input)

    return _public(body, name, text)


def _public(body: Any, name: str, text: str) -> Any:
    body.__name__ = body.__qualname__ = name
    body.__doc__ = f"""{text}

    >>> infinicore.special.{name}(infinicore.ones(1)).shape
    infinicore.Size([1])
    """
    return function(body)


i1 = _modified_function("i1", 1, False, "The modified Bessel function of order 1.")
i0e = _modified_function("i0e", 0, True, "`i0` times e^-|x|.")
i1e = _modified_function("i1e", 1, True, "`i1` times e^-|x|.")
modified_bessel_i0, modified_bessel_i1 = i0, i1


def _second_kind(x: Tensor, order: int) -> Tensor:
    """e^x K_order(x): the integral of e^(x (1 - cosh t)) cosh(order t), by the trapezoidal rule,
    whose error vanishes faster than any power of the step."""
    count, width = 160, 8.0
    step = emit("log", emit("add", emit("div", tensor_for(760.0, x.dtype, x.device), x), 2.0))
    step = emit("mul", emit("minimum", emit("add", step, 0.7), width * 100), 1.0 / count)
    t = emit("mul", step.unsqueeze(-1), cast_to(counting(count, x), x.dtype))
    half = emit("sinh", emit("mul", t, 0.5))
    power = emit("mul", emit("mul", half, half), -2.0)  # 1 - cosh t
    terms = emit("exp", emit("mul", power, x.unsqueeze(-1)))
    if order:
        terms = emit("mul", terms, emit("cosh", t))
    total = emit("sum", terms, dim=[terms.ndim - 1])
    return emit("mul", emit("sub", total, 0.5), step)  # type: ignore[no-any-return]


def _second_function(name: str, order: int, scaled: bool, text: str) -> Any:
    def body(input: Tensor) -> Tensor:
        given = computed(input)
        x = cast_to(given, float64)
        made = _second_kind(x, order)
        if not scaled:
            made = emit("mul", made, emit("exp", emit("neg", x)))
        made = where(emit("equal", x, 0.0), math.inf, made, x)
        made = where(emit("less", x, 0.0), math.nan, made, x)
        return _back(made, input)

    return _public(body, name, text)


_K = "The modified Bessel function of the second kind, order"
modified_bessel_k0 = _second_function("modified_bessel_k0", 0, False, f"{_K} 0.")
modified_bessel_k1 = _second_function("modified_bessel_k1", 1, False, f"{_K} 1.")
scaled_modified_bessel_k0 = _second_function(
    "scaled_modified_bessel_k0", 0, True, "`modified_bessel_k0` times e^x."
)
scaled_modified_bessel_k1 = _second_function(
    "scaled_modified_bessel_k1", 1, True, "`modified_bessel_k1` times e^x."
)


def _first_kind(x: Tensor, order: int) -> Tensor:
    size = emit("abs", x)
    near = emit("minimum", size, _WIDE)
    angle = emit("mul", emit("add", cast_to(counting(_POINTS, x), x.dtype), 0.5), math.pi / _POINTS)
    inner = emit("mul", near.unsqueeze(-1), emit("sin", angle))
    if order:
        inner = emit("sub", angle.expand(*inner.shape), inner)
    terms = emit("cos", inner)
    mean = emit("mean", terms, dim=[terms.ndim - 1])
    far = emit("maximum", size, _WIDE)
    inverse = emit("reciprocal", far)
    square = emit("mul", inverse, inverse)
    a = asymptotic(order, 20)
    even = [(-1) ** k * a[2 * k] for k in range(10)]
    odd = [(-1) ** k * a[2 * k + 1] for k in range(10)]
    p, q = polynomial(square, even), emit("mul", polynomial(square, odd), inverse)
    # cos and sin of x - order pi / 2 - pi / 4, from those of x itself
    cosine, sine = emit("cos", far), emit("sin", far)
    c, s = emit("add", cosine, sine), emit("sub", sine, cosine)
    if order:
        c, s = s, emit("neg", c)
    tail = emit("sub", emit("mul", p, c), emit("mul", q, s))
    tail = emit("div", tail, emit("sqrt", emit("mul", far, math.pi)))
    made = where(emit("less", size, _WIDE), mean, tail, x)
    made = where(emit("isinf", x), 0.0, made, x)
    return emit("mul", made, emit("sign", x)) if order else made


def _first_function(name: str, order: int) -> Any:
    def body(input: Tensor) -> Tensor:
        return _back(_first_kind(cast_to(computed(input), float64), order), input)

    return _public(body, name, f"The Bessel function of the first kind, order {order}.")


bessel_j0, bessel_j1 = _first_function("bessel_j0", 0), _first_function("bessel_j1", 1)


@function
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """sin(x) / x.

    >>> infinicore.special.spherical_bessel_j0(infinicore.zeros(1))
    tensor([1.])
    """
    x = computed(input)
    zero = emit("equal", x, 0.0)
    made = emit("div", emit("sin", x), where(zero, 1.0, x, x))
    made = where(emit("isinf", x), 0.0, made, x)
    return _back(where(zero, 1.0, made, x), input)
