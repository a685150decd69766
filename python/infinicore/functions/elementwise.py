"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from typing import Any

from infinicore._dtype import bool_, category, get_default_dtype, int64
from infinicore._emit import cast_to, emit, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._make import unary
from infinicore.functions._results import Parts

__all__ = [
    "abs",
    "absolute",
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
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "clip",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "fix",
    "floor",
    "frac",
    "frexp",
    "lgamma",
    "log",
    "log1p",
    "log2",
    "log10",
    "logit",
    "nan_to_num",
    "neg",
    "negative",
    "positive",
    "rad2deg",
    "reciprocal",
    "relu",
    "round",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]


def _unary(name: str, text: str, example: str = "", operator: str = "") -> Any:
    return unary(__name__, name, text, example, operator)


@function
def abs(input: Tensor, *, out: Any = None) -> Tensor:
    """The size of each element, without its sign.

    >>> infinicore.abs(infinicore.tensor([-1, 2]))
    tensor([1, 2])
    """
    if input.dtype is bool_:
        return emit("rearrange", input, out=out)
    return emit("abs", input, out=out)


acos = _unary("acos", "The angle between 0 and pi with this cosine.")
acosh = _unary("acosh", "The number of 0 or more with this hyperbolic cosine.")
asin = _unary("asin", "The angle between -pi/2 and pi/2 with this sine.")
asinh = _unary("asinh", "The number with this hyperbolic sine.")
atan = _unary("atan", "The angle between -pi/2 and pi/2 with this tangent.")
atanh = _unary("atanh", "The number with this hyperbolic tangent.")
ceil = _unary(
    "ceil",
    "Rounded up to an integer.",
    "ceil(infinicore.tensor([1.2, -1.2])) -> tensor([ 2., -1.])",
)
cos = _unary(
    "cos", "The cosine of an angle in radians.", "cos(infinicore.zeros(1)) -> tensor([1.])"
)
cosh = _unary("cosh", "The hyperbolic cosine.")
digamma = _unary("digamma", "The derivative of the logarithm of the gamma function.")
erf = _unary("erf", "The error function.", "erf(infinicore.zeros(1)) -> tensor([0.])")
erfc = _unary("erfc", "1 - erf(input), exact where that is small.")
erfinv = _unary("erfinv", "The number with this value of the error function.")
exp = _unary("exp", "e to the power of the input.", "exp(infinicore.zeros(1)) -> tensor([1.])")
exp2 = _unary("exp2", "2 to the power of the input.", "exp2(infinicore.zeros(1)) -> tensor([1.])")
expm1 = _unary("expm1", "exp(input) - 1, exact near 0.")
floor = _unary(
    "floor",
    "Rounded down to an integer.",
    "floor(infinicore.tensor([1.2, -1.2])) -> tensor([ 1., -2.])",
)
lgamma = _unary("lgamma", "The logarithm of the size of the gamma function.")
log = _unary("log", "The natural logarithm.", "log(infinicore.ones(1)) -> tensor([0.])")
log10 = _unary(
    "log10", "The logarithm to base 10.", "log10(infinicore.tensor([100.])) -> tensor([2.])"
)
log1p = _unary("log1p", "log(1 + input), exact near 0.")
log2 = _unary("log2", "The logarithm to base 2.", "log2(infinicore.tensor([8.])) -> tensor([3.])")
neg = _unary("neg", "-input.", "neg(infinicore.tensor([1, -2])) -> tensor([-1,  2])")
reciprocal = _unary(
    "reciprocal",
    "1 / input.",
    "reciprocal(infinicore.tensor([2., 4.])) -> tensor([0.5000, 0.2500])",
)
relu = _unary(
    "relu",
    "0 instead of what is negative.",
    "relu(infinicore.tensor([-1., 2.])) -> tensor([0., 2.])",
)
rsqrt = _unary("rsqrt", "1 / sqrt(input).", "rsqrt(infinicore.tensor([4.])) -> tensor([0.5000])")
sigmoid = _unary(
    "sigmoid", "1 / (1 + exp(-input)).", "sigmoid(infinicore.zeros(1)) -> tensor([0.5000])"
)
sign = _unary(
    "sign", "-1, 0 or 1.", "sign(infinicore.tensor([-3., 0., 2.])) -> tensor([-1.,  0.,  1.])"
)
sgn = _unary("sgn", "-1, 0 or 1.", operator="sign")
sin = _unary("sin", "The sine of an angle in radians.", "sin(infinicore.zeros(1)) -> tensor([0.])")
sinh = _unary("sinh", "The hyperbolic sine.")
sqrt = _unary("sqrt", "The square root.", "sqrt(infinicore.tensor([4., 9.])) -> tensor([2., 3.])")
tan = _unary("tan", "The tangent of an angle in radians.")
tanh = _unary("tanh", "The hyperbolic tangent.", "tanh(infinicore.zeros(1)) -> tensor([0.])")
trunc = _unary(
    "trunc",
    "Rounded towards 0 to an integer.",
    "trunc(infinicore.tensor([1.2, -1.2])) -> tensor([ 1., -1.])",
)


@function
def positive(input: Tensor, *, out: Any = None) -> Tensor:
    """The input."""
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
def deg2rad(input: Tensor, *, out: Any = None) -> Tensor:
    """Angles in degrees as radians.

    >>> infinicore.deg2rad(infinicore.tensor([180.]))
    tensor([3.1416])
    """
    return emit("mul", _floats(input), math.pi / 180, out=out)


@function
def rad2deg(input: Tensor, *, out: Any = None) -> Tensor:
    """Angles in radians as degrees.

    >>> infinicore.rad2deg(infinicore.tensor([0.]))
    tensor([0.])
    """
    return emit("mul", _floats(input), 180 / math.pi, out=out)


def _floats(input: Tensor) -> Tensor:
    return input if category(input.dtype) > 1 else cast_to(input, get_default_dtype())


@function
def sinc(input: Tensor, *, out: Any = None) -> Tensor:
    """sin(pi * input) / (pi * input), and 1 at 0.

    >>> infinicore.sinc(infinicore.zeros(1))
    tensor([1.])
    """
    input = _floats(input)
    angle = emit("mul", input, math.pi)
    one = tensor_for(1, input.dtype, input.device)
    return emit(
        "where", emit("equal", input, 0), one, emit("div", emit("sin", angle), angle), out=out
    )


@function
def logit(input: Tensor, eps: float | None = None, *, out: Any = None) -> Tensor:
    """log(input / (1 - input)); with `eps` the input is kept between eps and 1 - eps.

    >>> infinicore.logit(infinicore.tensor([0.5]))
    tensor([0.])
    """
    input = _floats(input)
    if eps is not None:
        input = emit("minimum", emit("maximum", input, eps), 1 - eps)
    return emit("log", emit("div", input, emit("sub", 1.0, input)), out=out)


@function
def clamp(input: Tensor, min: Operand = None, max: Operand = None, *, out: Any = None) -> Tensor:
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
    infinite = tensor_for(math.inf, kind, input.device)
    made = emit("where", emit("equal", input, infinite), high, made)
    return emit("where", emit("equal", input, emit("neg", infinite)), low, made, out=out)


absolute, negative, fix = abs, neg, trunc
arccos, arccosh, arcsin, arcsinh = acos, acosh, asin, asinh
arctan, arctanh = atan, atanh
