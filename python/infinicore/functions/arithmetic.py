"""Arithmetic of tensors and numbers."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._dtype import bool_, category, float64, int64
from infinicore._emit import _step, cast_to, emit, operator_named, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions._make import binary
from infinicore.op._shapes import broadcast

__all__ = [
    "add",
    "addcdiv",
    "addcmul",
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
    "ldexp",
    "lerp",
    "logaddexp",
    "logaddexp2",
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
    "xlogy",
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


floor_divide = binary(
    __name__,
    "floor_divide",
    "The quotient rounded down, broadcast; integers stay integers.",
    "floor_divide(infinicore.tensor([7, -7]), 2) -> tensor([ 3, -4])",
)


@function
def rfloor_divide(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other // input, broadcast."""
    return emit("floor_divide", other, input, out=out)


remainder = binary(
    __name__,
    "remainder",
    "What is left of a division rounded down: it has the sign of the divisor.",
    "remainder(infinicore.tensor([7, -7]), 4) -> tensor([3, 1])",
)


@function
def rremainder(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other % input, broadcast."""
    return emit("remainder", other, input, out=out)


fmod = binary(
    __name__,
    "fmod",
    "What is left of a division rounded to zero: it has the sign of the dividend.",
    "fmod(infinicore.tensor([7, -7]), 4) -> tensor([ 3, -3])",
)


@function
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """input to the power of the exponent, broadcast. One of the two may be a number.

    >>> infinicore.pow(infinicore.tensor([1., 2., 3.]), 2)
    tensor([1., 4., 9.])
    """
    return _power(input, exponent, out)


def _power(input: Any, exponent: Any, out: Any) -> Tensor:
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
        return emit("logical_or", input, emit("logical_not", exponent), out=out)
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
    if not isinstance(input, Tensor):
        input = tensor_for(input, float64, exponent.device)
    if not isinstance(exponent, Tensor):
        exponent = tensor_for(exponent, float64, input.device)
    return emit("pow", cast_to(input, float64), cast_to(exponent, float64), out=out)


maximum = binary(
    __name__,
    "maximum",
    "The larger of two elements, broadcast; NaN if one of them is.",
    "maximum(infinicore.tensor([1, 4]), 2) -> tensor([2, 4])",
)
minimum = binary(
    __name__,
    "minimum",
    "The smaller of two elements, broadcast; NaN if one of them is.",
    "minimum(infinicore.tensor([1, 4]), 2) -> tensor([1, 2])",
)
fmax = binary(__name__, "fmax", "The larger of two elements, broadcast; a NaN gives way.")
fmin = binary(__name__, "fmin", "The smaller of two elements, broadcast; a NaN gives way.")
hypot = binary(
    __name__,
    "hypot",
    "The root of the sum of two squares, broadcast.",
    "hypot(infinicore.tensor([3.]), 4) -> tensor([5.])",
)
atan2 = binary(__name__, "atan2", "The angle of the point (other, input), in radians.")
copysign = binary(__name__, "copysign", "The size of the first with the sign of the second.")
nextafter = binary(__name__, "nextafter", "The next float from the first towards the second.")
gcd = binary(
    __name__,
    "gcd",
    "The greatest common divisor of integers, broadcast.",
    "gcd(infinicore.tensor([12, 7]), 8) -> tensor([4, 1])",
)
lcm = binary(__name__, "lcm", "The least common multiple of integers, broadcast.")
logaddexp = binary(__name__, "logaddexp", "log(exp(input) + exp(other)), without overflow.")
logaddexp2 = binary(__name__, "logaddexp2", "log2(2 ** input + 2 ** other), without overflow.")


@function
def ldexp(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input * 2 ** other, broadcast.

    >>> infinicore.ldexp(infinicore.tensor([1.]), 3)
    tensor([8.])
    """
    # A power of two that fits no float is still right times a small number.
    kind = result_type(input, other)
    if category(kind) < 2:
        kind = result_type(input, 0.5)
    input = tensor_for(input, kind, input.device)
    if category(other.dtype) < 2:
        other = tensor_for(other, int64, other.device)
    else:
        other = tensor_for(other, kind, other.device)
    return emit("ldexp", input, other, out=out)


def settled(number: Tensor) -> Tensor:
    """A number as a tensor of its type: alone it would be taken for one of the default type."""
    if number._role != "number":
        return number
    made = _core.empty(number.shape, number.dtype, number.device)
    _step(operator_named("cast"), [made, number], {})
    return made


@function
def xlogy(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input * log(other), and 0 where the input is 0 (NaN where the other is NaN).

    >>> infinicore.xlogy(infinicore.tensor([0., 1.]), 1)
    tensor([0., 0.])
    """
    kind = result_type(input, other)
    if category(kind) < 2:
        kind = result_type(input, other, 0.5)
    x, y = (tensor_for(each, kind, each.device) for each in (input, other))
    product = emit("mul", x, emit("log", settled(y)))
    quiet = emit("logical_and", emit("equal", x, 0), emit("equal", y, y))
    return emit("where", quiet, tensor_for(0, kind, x.device), product, out=out)


@function
def lerp(start: Tensor, end: Tensor, weight: Operand, *, out: Any = None) -> Tensor:
    """start + weight * (end - start), broadcast; exact at both ends.

    >>> infinicore.lerp(infinicore.zeros(2), infinicore.ones(2), 0.25)
    tensor([0.2500, 0.2500])
    """
    shape = broadcast([tuple(each.shape) for each in (start, end, weight)])
    start, end = start.expand(*shape), end.expand(*shape)
    weight = tensor_for(weight, start.dtype, start.device).expand(*shape)
    return emit("lerp", start, end, weight, out=out)


Tensor.lerp = lerp


@function
def addcmul(
    input: Tensor, tensor1: Operand, tensor2: Operand, value: float = 1.0, *, out: Any = None
) -> Tensor:
    """input + value * tensor1 * tensor2, broadcast.

    >>> infinicore.addcmul(infinicore.ones(2), infinicore.ones(2), infinicore.ones(2), 0.5)
    tensor([1.5000, 1.5000])
    """
    product = emit("mul", tensor1, tensor2)
    if value != 1:
        product = emit("mul", product, tensor_for(value, product.dtype, input.device))
    return emit("add", input, product, out=out)


@function
def addcdiv(
    input: Tensor, tensor1: Operand, tensor2: Operand, value: float = 1.0, *, out: Any = None
) -> Tensor:
    """input + value * tensor1 / tensor2, broadcast.

    >>> infinicore.addcdiv(infinicore.ones(2), infinicore.ones(2), infinicore.full((2,), 4.0))
    tensor([1.2500, 1.2500])
    """
    if category(result_type(tensor1, tensor2)) < 2:
        raise RuntimeError("addcdiv: integers are not divided here: convert them to floats")
    if value != 1 and not math.isnan(value):
        tensor1 = emit("mul", tensor1, tensor_for(value, tensor1.dtype, input.device))
    return emit("add", input, emit("div", tensor1, tensor2), out=out)


divide = true_divide = div
multiply = mul
subtract = sub
