"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import bool_, category, int64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._results import Parts

__all__ = [
    "abs",
    "absolute",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "fix",
    "floor",
    "frac",
    "frexp",
    "nan_to_num",
    "neg",
    "negative",
    "positive",
    "reciprocal",
    "relu",
    "round",
    "sgn",
    "sign",
    "square",
    "trunc",
]


@function
def abs(input: Tensor, *, out: Any = None) -> Tensor:
    """The size of each element, without its sign.

    >>> infinicore.abs(infinicore.tensor([-1, 2]))
    tensor([1, 2])
    """
    if input.dtype is bool_:
        return emit("rearrange", input, out=out)
    return emit("abs", input, out=out)


@function
def ceil(input: Tensor, *, out: Any = None) -> Tensor:
    """Rounded up to an integer.

    >>> infinicore.ceil(infinicore.tensor([1.2, -1.2]))
    tensor([ 2., -1.])
    """
    return emit("ceil", input, out=out)


@function
def floor(input: Tensor, *, out: Any = None) -> Tensor:
    """Rounded down to an integer.

    >>> infinicore.floor(infinicore.tensor([1.2, -1.2]))
    tensor([ 1., -2.])
    """
    return emit("floor", input, out=out)


@function
def neg(input: Tensor, *, out: Any = None) -> Tensor:
    """-input.

    >>> infinicore.neg(infinicore.tensor([1, -2]))
    tensor([-1,  2])
    """
    return emit("neg", input, out=out)


@function
def reciprocal(input: Tensor, *, out: Any = None) -> Tensor:
    """1 / input.

    >>> infinicore.reciprocal(infinicore.tensor([2., 4.]))
    tensor([0.5000, 0.2500])
    """
    return emit("reciprocal", input, out=out)


@function
def relu(input: Tensor, *, out: Any = None) -> Tensor:
    """0 instead of what is negative.

    >>> infinicore.relu(infinicore.tensor([-1., 2.]))
    tensor([0., 2.])
    """
    return emit("relu", input, out=out)


@function
def sign(input: Tensor, *, out: Any = None) -> Tensor:
    """-1, 0 or 1.

    >>> infinicore.sign(infinicore.tensor([-3., 0., 2.]))
    tensor([-1.,  0.,  1.])
    """
    return emit("sign", input, out=out)


@function
def sgn(input: Tensor, *, out: Any = None) -> Tensor:
    """-1, 0 or 1.

    >>> infinicore.sgn(infinicore.tensor([3., -2.]))
    tensor([ 1., -1.])
    """
    return emit("sign", input, out=out)


@function
def trunc(input: Tensor, *, out: Any = None) -> Tensor:
    """Rounded towards 0 to an integer.

    >>> infinicore.trunc(infinicore.tensor([1.2, -1.2]))
    tensor([ 1., -1.])
    """
    return emit("trunc", input, out=out)


@function
def positive(input: Tensor, *, out: Any = None) -> Tensor:
    """The input.

    >>> infinicore.positive(infinicore.tensor([1., -2.]))
    tensor([ 1., -2.])
    """
    if input.dtype is bool_:
        raise RuntimeError("positive: truth values have no sign")
    return emit("rearrange", input, out=out)


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
    """What stands behind the point: input - trunc(input).

    >>> infinicore.frac(infinicore.tensor([1.5, -2.25]))
    tensor([ 0.5000, -0.2500])
    """
    return emit("sub", input, emit("trunc", input), out=out)


@function
def frexp(input: Tensor) -> Any:
    """Mantissas of size 0.5 to 1 and int32 exponents: input = mantissa * 2 ** exponent.

    >>> infinicore.frexp(infinicore.tensor([8.])).exponent
    tensor([4], dtype=infinicore.int32)
    """
    return Parts(*emit("frexp", input))


@function
def round(input: Tensor, *, decimals: int = 0, out: Any = None) -> Tensor:
    """Rounded to an integer, halves to the even one; or to so many decimals.

    >>> infinicore.round(infinicore.tensor([0.5, 1.5, 2.6]))
    tensor([0., 2., 3.])
    """
    if decimals == 0 or category(input.dtype) < 2:
        return emit("round", input, out=out)
    scale = tensor_for(10.0 ** builtin_abs(decimals), input.dtype, input.device)
    there, back = ("mul", "div") if decimals > 0 else ("div", "mul")
    return emit(back, emit("round", emit(there, input, scale)), scale, out=out)


def builtin_abs(number: int) -> int:
    return number if number >= 0 else -number


@function
def clamp(
    input: Tensor, min: Operand | None = None, max: Operand | None = None, *, out: Any = None
) -> Tensor:
    """Elements kept between two bounds, of which one may be missing: numbers or tensors.

    >>> infinicore.clamp(infinicore.tensor([-2., 0.5, 7.]), 0, 1)
    tensor([0.0000, 0.5000, 1.0000])
    """
    if min is None and max is None:
        raise ValueError("clamp: expected min, max or both")
    if min is None:
        return emit("minimum", input, max, out=out)
    if max is None:
        return emit("maximum", input, min, out=out)
    return emit("minimum", emit("maximum", input, min), max, out=out)


clip = clamp


@function
def clamp_min(input: Tensor, min: Operand, *, out: Any = None) -> Tensor:
    """No element below a bound.

    >>> infinicore.clamp_min(infinicore.tensor([-2., 7.]), 0)
    tensor([0., 7.])
    """
    return emit("maximum", input, min, out=out)


@function
def clamp_max(input: Tensor, max: Operand, *, out: Any = None) -> Tensor:
    """No element above a bound.

    >>> infinicore.clamp_max(infinicore.tensor([-2., 7.]), 0)
    tensor([-2.,  0.])
    """
    return emit("minimum", input, max, out=out)


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
    """Numbers instead of NaN and infinities; those are the largest of the type if not given.

    >>> infinicore.nan_to_num(infinicore.tensor([float("nan"), 1.]))
    tensor([0., 1.])
    """
    kind = input.dtype
    if category(kind) < 2:
        return emit("rearrange", input, out=out)
    top = LARGEST[kind._code]
    nan = 0.0 if nan is None else nan
    high, low = (
        tensor_for(preset if given is None else given, kind, input.device)
        for preset, given in ((top, posinf), (-top, neginf))
    )
    made = emit("where", emit("isnan", input), tensor_for(nan, kind, input.device), input)
    above, below = (tensor_for(each, kind, input.device) for each in (math.inf, -math.inf))
    made = emit("where", emit("equal", input, above), high, made)
    return emit("where", emit("equal", input, below), low, made, out=out)


absolute, negative, fix = abs, neg, trunc
