"""Angles and their functions."""

from __future__ import annotations

import math
from typing import Any

from infinicore._emit import emit, tensor_for
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._dims import floats

__all__ = [
    "acos",
    "acosh",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctanh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "cos",
    "cosh",
    "deg2rad",
    "rad2deg",
    "sin",
    "sinc",
    "sinh",
    "tan",
    "tanh",
]


@function
def acos(input: Tensor, *, out: Any = None) -> Tensor:
    """The angle between 0 and pi with this cosine.

    >>> infinicore.acos(infinicore.tensor([0., 0.5]))
    tensor([1.5708, 1.0472])
    """
    return emit("acos", input, out=out)


@function
def acosh(input: Tensor, *, out: Any = None) -> Tensor:
    """The number of 0 or more with this hyperbolic cosine.

    >>> infinicore.acosh(infinicore.tensor([1., 2.]))
    tensor([0.0000, 1.3170])
    """
    return emit("acosh", input, out=out)


@function
def asin(input: Tensor, *, out: Any = None) -> Tensor:
    """The angle between -pi/2 and pi/2 with this sine.

    >>> infinicore.asin(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.5236])
    """
    return emit("asin", input, out=out)


@function
def asinh(input: Tensor, *, out: Any = None) -> Tensor:
    """The number with this hyperbolic sine.

    >>> infinicore.asinh(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.4812])
    """
    return emit("asinh", input, out=out)


@function
def atan(input: Tensor, *, out: Any = None) -> Tensor:
    """The angle between -pi/2 and pi/2 with this tangent.

    >>> infinicore.atan(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.4636])
    """
    return emit("atan", input, out=out)


@function
def atanh(input: Tensor, *, out: Any = None) -> Tensor:
    """The number with this hyperbolic tangent.

    >>> infinicore.atanh(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.5493])
    """
    return emit("atanh", input, out=out)


@function
def cos(input: Tensor, *, out: Any = None) -> Tensor:
    """The cosine of an angle in radians.

    >>> infinicore.cos(infinicore.zeros(1))
    tensor([1.])
    """
    return emit("cos", input, out=out)


@function
def cosh(input: Tensor, *, out: Any = None) -> Tensor:
    """The hyperbolic cosine.

    >>> infinicore.cosh(infinicore.tensor([0., 0.5]))
    tensor([1.0000, 1.1276])
    """
    return emit("cosh", input, out=out)


@function
def sin(input: Tensor, *, out: Any = None) -> Tensor:
    """The sine of an angle in radians.

    >>> infinicore.sin(infinicore.zeros(1))
    tensor([0.])
    """
    return emit("sin", input, out=out)


@function
def sinh(input: Tensor, *, out: Any = None) -> Tensor:
    """The hyperbolic sine.

    >>> infinicore.sinh(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.5211])
    """
    return emit("sinh", input, out=out)


@function
def tan(input: Tensor, *, out: Any = None) -> Tensor:
    """The tangent of an angle in radians.

    >>> infinicore.tan(infinicore.tensor([0., 0.5]))
    tensor([0.0000, 0.5463])
    """
    return emit("tan", input, out=out)


@function
def tanh(input: Tensor, *, out: Any = None) -> Tensor:
    """The hyperbolic tangent.

    >>> infinicore.tanh(infinicore.zeros(1))
    tensor([0.])
    """
    return emit("tanh", input, out=out)


@function
def deg2rad(input: Tensor, *, out: Any = None) -> Tensor:
    """Angles in degrees as radians.

    >>> infinicore.deg2rad(infinicore.tensor([180.]))
    tensor([3.1416])
    """
    return emit("mul", floats(input), math.pi / 180, out=out)


@function
def rad2deg(input: Tensor, *, out: Any = None) -> Tensor:
    """Angles in radians as degrees.

    >>> infinicore.rad2deg(infinicore.tensor([0.]))
    tensor([0.])
    """
    return emit("mul", floats(input), 180 / math.pi, out=out)


@function
def sinc(input: Tensor, *, out: Any = None) -> Tensor:
    """sin(pi * input) / (pi * input), and 1 at 0.

    >>> infinicore.sinc(infinicore.zeros(1))
    tensor([1.])
    """
    input = floats(input)
    angle = emit("mul", input, math.pi)
    one = tensor_for(1, input.dtype, input.device)
    return emit(
        "where", emit("equal", input, 0), one, emit("div", emit("sin", angle), angle), out=out
    )


arccos, arccosh, arcsin, arcsinh = acos, acosh, asin, asinh


arctan, arctanh = atan, atanh
