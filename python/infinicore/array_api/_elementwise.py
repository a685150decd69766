"""Elementwise functions, composed of those of `infinicore`, with the array API's parameter names
and promotion rules."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import infinicore
from infinicore._dtype import category
from infinicore._tensor import Tensor
from infinicore.array_api._dtypes import as_array, common

# Names, with the name in infinicore where it differs.
_UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert=bitwise_not ceil cos cosh exp floor
    isfinite isinf isnan log log1p log2 log10 logical_not negative reciprocal signbit
    sin sinh square sqrt tan tanh trunc
"""
_BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
    divide equal greater greater_equal hypot less less_equal logaddexp logical_and
    logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract
"""


def _unary(name: str, base: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(x: Tensor, /) -> Tensor:
        return base(as_array(name, "x", x))

    return _named(function, name, base)  # type: ignore[no-any-return]


def _binary(name: str, base: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(x1: Any, x2: Any, /) -> Tensor:
        return base(*common(name, x1, x2))

    return _named(function, name, base)  # type: ignore[no-any-return]


def _named(function: Any, name: str, base: Any) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = str(base.__doc__ or "").split("\n\n>>>")[0].split("\n\n    >>>")[0]
    return function


def _names(text: str) -> list[tuple[str, str]]:
    pairs = [word.partition("=") for word in text.split()]
    return [(name, other or name) for name, _, other in pairs]


def clip(x: Tensor, /, min: Any = None, max: Any = None) -> Tensor:
    """Elements limited to a range: the bounds are numbers or arrays, broadcast. The type is that of
    x."""
    as_array("clip", "x", x)
    made = x
    for bound, choose in ((min, infinicore.maximum), (max, infinicore.minimum)):
        if bound is not None:
            other = bound.to(x.dtype) if isinstance(bound, Tensor) else bound
            made = choose(made, other)
    made = made.to(x.dtype)
    return made.clone() if made is x else made


def conj(x: Tensor, /) -> Tensor:
    """Complex conjugates; real numbers are unchanged."""
    return infinicore.conj(as_array("conj", "x", x))


def imag(x: Tensor, /) -> Tensor:
    """The imaginary parts of complex numbers."""
    return infinicore.imag(as_array("imag", "x", x))


def real(x: Tensor, /) -> Tensor:
    """The real parts; real numbers are unchanged."""
    return infinicore.real(as_array("real", "x", x))


def expm1(x: Tensor, /) -> Tensor:
    """exp(x) - 1, accurate near 0."""
    made = infinicore.expm1(as_array("expm1", "x", x))
    if not x.dtype.is_complex:
        return made
    # The real part of a zero is +0, whatever the sign of that of x.
    real = infinicore.where(infinicore.eq(x, 0), 0.0, infinicore.real(made))
    return infinicore.complex(real.to(infinicore.real(made).dtype), infinicore.imag(made))


def floor_divide(x1: Any, x2: Any, /) -> Tensor:
    """The quotient, rounded down; with infinities it is the plain quotient, where Python's `//`
    gives NaN or -1."""
    one, two = common("floor_divide", x1, x2)
    made = infinicore.floor_divide(one, two)
    if category(made.dtype) < 2:
        return made
    quotient = infinicore.divide(one, two)
    infinite = _is_infinite(one) | _is_infinite(two)
    return infinicore.where(infinite, quotient, made)  # type: ignore[no-any-return]


def _is_infinite(x: Any) -> Any:
    return infinicore.isinf(x) if isinstance(x, Tensor) else bool(math.isinf(x))


def sign(x: Tensor, /) -> Tensor:
    """1 above 0, -1 below, 0 for 0, NaN for NaN; complex numbers are divided by their absolute
    value."""
    made = infinicore.sgn(as_array("sign", "x", x))
    if category(x.dtype) < 2:
        return made
    if x.dtype.is_complex:
        made = infinicore.where(infinicore.eq(x, 0), infinicore.zeros_like(x), made)
    return infinicore.where(infinicore.isnan(x), x, made)  # type: ignore[no-any-return]


def positive(x: Tensor, /) -> Tensor:
    """A copy of the elements."""
    return as_array("positive", "x", x).clone()


def round(x: Tensor, /) -> Tensor:
    """The nearest integers, ties to even; for complex numbers, of both parts."""
    if x.dtype.is_complex:
        return infinicore.complex(
            infinicore.round(infinicore.real(x)), infinicore.round(infinicore.imag(x))
        )
    return infinicore.round(as_array("round", "x", x))


FUNCTIONS: dict[str, Any] = {
    **{name: _unary(name, getattr(infinicore, other)) for name, other in _names(_UNARY)},
    **{name: _binary(name, getattr(infinicore, other)) for name, other in _names(_BINARY)},
    **{
        each.__name__: each
        for each in (clip, conj, expm1, floor_divide, imag, positive, real, round, sign)
    },
}
globals().update(FUNCTIONS)
__all__ = list(FUNCTIONS)
