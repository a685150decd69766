"""Arithmetic of tensors and numbers."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import bool_, category, float64
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor

__all__ = [
    "add",
    "arctan2",
    "atan2",
    "copysign",
    "div",
    "divide",
    "float_power",
    "floor_divide",
    "fmax",
    "fmin",
    "fmod",
    "gcd",
    "hypot",
    "lcm",
    "maximum",
    "minimum",
    "mul",
    "mul_scalar",
    "multiply",
    "nextafter",
    "pow",
    "remainder",
    "rsub",
    "sub",
    "subtract",
    "true_divide",
]


@function
def add(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """input + alpha * other, broadcast.

    >>> infinicore.add(infinicore.ones(2), 1)
    tensor([2., 2.])
    """
    if alpha != 1:
        other = emit("mul", other, tensor_for(alpha, result_type(input, other), other.device))
    return emit("add", input, other, out=out)


@function
def sub(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """input - alpha * other, broadcast.

    >>> infinicore.sub(infinicore.ones(2), 3)
    tensor([-2., -2.])
    """
    if alpha != 1:
        other = emit("mul", other, tensor_for(alpha, result_type(input, other), other.device))
    return emit("sub", input, other, out=out)


@function
def rsub(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """other - alpha * input, broadcast.

    >>> infinicore.rsub(infinicore.ones(2), 3)
    tensor([2., 2.])
    """
    if alpha != 1:
        input = emit("mul", input, tensor_for(alpha, result_type(input, other), input.device))
    return emit("sub", other, input, out=out)


@function
def mul(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input * other, broadcast.

    >>> infinicore.mul(infinicore.ones(2), 3)
    tensor([3., 3.])
    """
    return emit("mul", input, other, out=out)


@function
def mul_scalar(input: Tensor, alpha: Operand, *, out: Any = None) -> Tensor:
    """input * alpha, in the type of the input.

    >>> infinicore.mul_scalar(infinicore.ones(2), 2.5)
    tensor([2.5000, 2.5000])
    """
    return emit("mul", input, tensor_for(alpha, input.dtype, input.device), out=out)


@function
def div(
    input: Operand, other: Operand, *, rounding_mode: str | None = None, out: Any = None
) -> Tensor:
    """input / other, broadcast; integers give floats. With `rounding_mode` "floor" or "trunc" the
    quotient is rounded and integers stay integers.

    >>> infinicore.div(infinicore.tensor([1, 2]), 2)
    tensor([0.5000, 1.0000])
    """
    return _quotient(input, other, rounding_mode, out)


def _quotient(input: Tensor, other: Tensor, rounding_mode: str | None, out: Any) -> Tensor:
    if rounding_mode is None:
        return emit("div", input, other, out=out)
    if rounding_mode == "floor":
        return emit("floor_divide", input, other, out=out)
    if rounding_mode != "trunc":
        raise ValueError(f"div: rounding_mode is {rounding_mode!r}: expected 'floor' or 'trunc'")
    if category(result_type(input, other)) == 2:
        return emit("trunc", emit("div", input, other), out=out)
    # Exact for integers: what is left over has the sign of the dividend.
    return emit("floor_divide", emit("sub", input, emit("fmod", input, other)), other, out=out)


@function
def rdiv(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other / input, broadcast."""
    return emit("div", other, input, out=out)


@function
def floor_divide(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The quotient rounded down, broadcast; integers stay integers.

    >>> infinicore.floor_divide(infinicore.tensor([7, -7]), 2)
    tensor([ 3, -4])
    """
    return emit("floor_divide", input, other, out=out)


@function
def rfloor_divide(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other // input, broadcast."""
    return emit("floor_divide", other, input, out=out)


@function
def remainder(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """What is left of a division rounded down: it has the sign of the divisor.

    >>> infinicore.remainder(infinicore.tensor([7, -7]), 4)
    tensor([3, 1])
    """
    return emit("remainder", input, other, out=out)


@function
def rremainder(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other % input, broadcast."""
    return emit("remainder", other, input, out=out)


@function
def fmod(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """What is left of a division rounded to zero: it has the sign of the dividend.

    >>> infinicore.fmod(infinicore.tensor([7, -7]), 4)
    tensor([ 3, -3])
    """
    return emit("fmod", input, other, out=out)


@function
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """input to the power of the exponent, broadcast. One of the two may be a number.

    >>> infinicore.pow(infinicore.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    return _power(input, exponent, out)


def _check_power(name: str, *operands: Any) -> None:
    if not any(isinstance(each, Tensor) for each in operands):
        raise TypeError(f"{name}: expected a tensor as input or as exponent")
    for each in operands:
        if not isinstance(each, (Tensor, int, float)):
            raise TypeError(f"{name}: {type(each).__name__}: expected a tensor or a number")


def _power(input: Any, exponent: Any, out: Any) -> Tensor:
    _check_power("pow", input, exponent)
    if not isinstance(exponent, Tensor) and isinstance(input, Tensor):
        kind = result_type(input, exponent)
        if category(kind) == 1 and exponent < 0:
            raise RuntimeError("pow: integers have no negative powers: convert them to floats")
        if kind is input.dtype and kind is not bool_:
            if exponent == 2:
                return emit("mul", input, input, out=out)
            if exponent == 3:
                return emit("mul", emit("mul", input, input), input, out=out)
    if result_type(input, exponent) is bool_:
        where = input.device if isinstance(input, Tensor) else exponent.device
        base, power = (tensor_for(each, bool_, where) for each in (input, exponent))
        return emit("logical_or", base, emit("logical_not", power), out=out)
    return emit("pow", input, exponent, out=out)


@function
def rpow(input: Tensor, other: Any, *, out: Any = None) -> Tensor:
    """other ** input, broadcast."""
    return _power(other, input, out)


@function
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """input to the power of the exponent, in float64.

    >>> infinicore.float_power(infinicore.tensor([1, 2]), 0.5)
    tensor([1.0000, 1.4142], dtype=infinicore.float64)
    """
    _check_power("float_power", input, exponent)
    if not isinstance(input, Tensor):
        input = tensor_for(input, float64, exponent.device)
    if not isinstance(exponent, Tensor):
        exponent = tensor_for(exponent, float64, input.device)
    return emit("pow", cast_to(input, float64), cast_to(exponent, float64), out=out)


@function
def maximum(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The larger of two elements, broadcast; NaN if one of them is.

    >>> infinicore.maximum(infinicore.tensor([1, 4]), 2)
    tensor([2, 4])
    """
    return emit("maximum", input, other, out=out)


@function
def minimum(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The smaller of two elements, broadcast; NaN if one of them is.

    >>> infinicore.minimum(infinicore.tensor([1, 4]), 2)
    tensor([1, 2])
    """
    return emit("minimum", input, other, out=out)


@function
def fmax(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The larger of two elements, broadcast; a NaN gives way.

    >>> infinicore.fmax(infinicore.tensor([1., float("nan")]), infinicore.tensor([2., 3.]))
    tensor([2., 3.])
    """
    return emit("fmax", input, other, out=out)


@function
def fmin(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The smaller of two elements, broadcast; a NaN gives way.

    >>> infinicore.fmin(infinicore.tensor([1., float("nan")]), infinicore.tensor([2., 3.]))
    tensor([1., 3.])
    """
    return emit("fmin", input, other, out=out)


@function
def hypot(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The root of the sum of two squares, broadcast.

    >>> infinicore.hypot(infinicore.tensor([3.]), 4)
    tensor([5.])
    """
    return emit("hypot", input, other, out=out)


@function
def atan2(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The angle of the point (other, input), in radians.

    >>> infinicore.atan2(infinicore.tensor([1., -2.]), infinicore.tensor([-1., 3.]))
    tensor([ 2.3562, -0.5880])
    """
    return emit("atan2", input, other, out=out)


@function
def copysign(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The size of the first with the sign of the second.

    >>> infinicore.copysign(infinicore.tensor([1., -2.]), infinicore.tensor([-1., 3.]))
    tensor([-1.,  2.])
    """
    return emit("copysign", input, other, out=out)


@function
def nextafter(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The next float from the first towards the second.

    >>> infinicore.nextafter(infinicore.tensor([1., -2.]), infinicore.tensor([-1., 3.]))
    tensor([ 1.0000, -2.0000])
    """
    return emit("nextafter", input, other, out=out)


@function
def gcd(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The greatest common divisor of integers, broadcast.

    >>> infinicore.gcd(infinicore.tensor([12, 7]), 8)
    tensor([4, 1])
    """
    return emit("gcd", input, other, out=out)


@function
def lcm(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The least common multiple of integers, broadcast.

    >>> infinicore.lcm(infinicore.tensor([4, 6]), 6)
    tensor([12,  6])
    """
    return emit("lcm", input, other, out=out)


divide = true_divide = div
arctan2 = atan2
multiply = mul
subtract = sub
