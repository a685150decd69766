"""Elementwise functions of one tensor that consist of several operators."""

from __future__ import annotations

import math
from typing import Any

from infinicore._complex_emit import joined
from infinicore._dtype import bool_, category, int64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor
from infinicore.functions._operands import floats, wide_floats


@function
def abs(input: Tensor, *, out: Any = None) -> Tensor:
    """The absolute value of each element.

    >>> infinicore.abs(infinicore.tensor([-1, 2]))
    tensor([1, 2])
    """
    if input.dtype is bool_:
        return emit("rearrange", input, out=out)
    return emit("abs", input, out=out)


@function
def neg(input: Tensor, *, out: Any = None) -> Tensor:
    """-input.

    >>> infinicore.neg(infinicore.tensor([1., -2.]))
    tensor([-1.,  2.])
    """
    if isinstance(input, Tensor) and input.dtype is bool_:
        raise RuntimeError("neg: input has type infinicore.bool: expected numbers; use logical_not")
    return emit("neg", input, out=out)


negative = neg


@function
def positive(input: Tensor, *, out: Any = None) -> Tensor:
    """The input itself; with `out` a copy.

    >>> infinicore.positive(infinicore.tensor([1., -2.]))
    tensor([ 1., -2.])
    """
    if need_tensor("positive", "input", input).dtype is bool_:
        raise RuntimeError("positive: truth values have no sign")
    return input if out is None else emit("rearrange", input, out=out)


@function
def square(input: Tensor, *, out: Any = None) -> Tensor:
    """input * input.

    >>> infinicore.square(infinicore.tensor([2., -3.]))
    tensor([4., 9.])
    """
    if input.dtype is bool_:
        input = cast_to(input, int64)
    return emit("mul", input, input, out=out)


@function
def frac(input: Tensor, *, out: Any = None) -> Tensor:
    """The fractional part: input - trunc(input).

    >>> infinicore.frac(infinicore.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """
    return emit("sub", input, emit("trunc", input), out=out)


@function
def round(input: Tensor, *, decimals: int = 0, out: Any = None) -> Tensor:
    """Rounds to the nearest integer, ties to even; or to a number of decimals.

    >>> infinicore.round(infinicore.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    if decimals == 0 or category(input.dtype) < 2:
        return emit("round", input, out=out)
    scale = tensor_for(10.0 ** _builtin_abs(decimals), input.dtype, input.device)
    there, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    return emit(back, emit("round", emit(there, input, scale)), scale, out=out)


def _builtin_abs(number: int) -> int:
    return number if number >= 0 else -number


@function
def clamp(
    input: Tensor, min: Operand | None = None, max: Operand | None = None, *, out: Any = None
) -> Tensor:
    """Limits elements to a range. The bounds are numbers or tensors; one may be missing.

    >>> infinicore.clamp(infinicore.tensor([-2., 0.5, 7.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise ValueError("clamp: expected min, max or both")
    if min is None:
        return emit("minimum", input, max, out=out)
    if max is None:
        return emit("maximum", input, min, out=out)
    return emit("clamp", input, min, max, out=out)


clip = clamp

LARGEST = {
    "F16": 65504.0,
    "BF16": 3.3895313892515355e38,
    "F32": 3.4028234663852886e38,
    "F64": 1.7976931348623157e308,
}


@function
def nan_to_num(
    input: Tensor,
    nan: float | None = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """Replaces NaN by 0 and infinities by the largest finite numbers of the type, unless given.

    >>> infinicore.nan_to_num(infinicore.tensor([float("nan"), 1.]))
    tensor([0., 1.])
    """
    kind = input.dtype
    if category(kind) < 2:
        return emit("rearrange", input, out=out)
    if kind.is_complex:
        given = nan, posinf, neginf
        parts = (nan_to_num(part, *given) for part in (input.real, input.imag))
        return emit("rearrange", joined(*parts), out=out)
    top = LARGEST[kind._code]
    numbers = {
        "nan": 0.0 if nan is None else float(nan),
        "posinf": top if posinf is None else float(posinf),
        "neginf": -top if neginf is None else float(neginf),
    }
    return emit("nan_to_num", input, **numbers, out=out)


@function
def logit(input: Tensor, eps: float | None = None, *, out: Any = None) -> Tensor:
    """log(input / (1 - input)); with `eps` the input is clamped to [eps, 1 - eps].

    >>> infinicore.logit(infinicore.tensor([0.5]))
    tensor([0.])
    """
    input = floats(input)
    if eps is not None:
        input = emit("minimum", emit("maximum", input, eps), 1 - eps)
    return emit("logit", input, out=out)


@function
def deg2rad(input: Tensor, *, out: Any = None) -> Tensor:
    """Converts degrees to radians.

    >>> infinicore.deg2rad(infinicore.tensor([180.]))
    tensor([3.1416])
    """
    return emit("mul", floats(input), math.pi / 180, out=out)


@function
def rad2deg(input: Tensor, *, out: Any = None) -> Tensor:
    """Converts radians to degrees.

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
    x = wide_floats(input)
    angle = emit("mul", x, math.pi)
    one = tensor_for(1, x.dtype, x.device)
    made = emit("where", emit("equal", x, 0), one, emit("div", emit("sin", angle), angle))
    made = cast_to(made, floats(input).dtype)
    return made if out is None else emit("rearrange", made, out=out)


absolute = abs


@function
def _cast(input: Tensor, *, out: Any) -> Tensor:
    return emit("cast", input, out=out)


def cast(input: Tensor, dtype: Any = None, *, out: Any = None) -> Tensor:
    """Converts elements to a type, in a new tensor, or to the type of `out`.

    >>> infinicore.cast(infinicore.ones(2), infinicore.int32)
    tensor([1, 1], dtype=infinicore.int32)
    """
    need_tensor("cast", "input", input)
    if out is None:
        if dtype is None:
            raise TypeError("cast: expected out= or a dtype")
        return input.to(dtype, copy=True)
    if tuple(out.shape) != tuple(input.shape):
        raise ValueError(f"cast: out has shape {tuple(out.shape)}: expected {tuple(input.shape)}")
    return _cast(input, out=out)


@function
def fill(input: Tensor, value: Operand) -> Tensor:
    """A tensor like the input, filled with `value`.

    >>> infinicore.fill(infinicore.ones(2), 3)
    tensor([3., 3.])
    """
    if value.ndim:
        raise ValueError(f"fill: value has {value.ndim} dimensions: expected a number")
    return cast_to(value, input.dtype).expand(*input.shape).clone()


@function
def _everywhere(input: Tensor) -> Tensor:
    one = tensor_for(True, bool_, input.device)
    return emit("rearrange", one.expand(*input.shape))


def isreal(input: Tensor) -> Tensor:
    """True where the imaginary part is 0.

    >>> infinicore.isreal(infinicore.ones(2))
    tensor([True, True])
    """
    need_tensor("isreal", "input", input)
    if input.dtype.is_complex:
        return input.imag == 0
    return _everywhere(input)


@function
def i0(input: Tensor) -> Tensor:
    """The modified Bessel function of order 0.

    >>> infinicore.i0(infinicore.zeros(1))
    tensor([1.])
    """
    return emit("bessel_i0", floats(input))
