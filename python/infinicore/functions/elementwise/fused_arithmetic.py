"""Functions that combine several arithmetic steps."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from infinicore import _core
from infinicore._dtype import bfloat16, category, float16, float64, int16, int64
from infinicore._emit import _step, device_of, emit, placed, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions.matmul.addmm import _added, _grown
from infinicore.functions.matmul.matmul import _check_ranks
from infinicore.op._operator import function as operator_named
from infinicore.op._shapes import broadcast


@function
def ldexp(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input * 2 ** other, broadcast.

    >>> infinicore.ldexp(infinicore.tensor([1.]), 3)
    tensor([8.])
    """
    # The power of two may overflow although the product does not.
    kind = result_type(input, other)
    if category(kind) < 2:
        kind = result_type(input, 0.5)
    input = tensor_for(input, kind, input.device)
    if kind.is_complex:
        return emit("ldexp", input, other, out=out)
    if category(other.dtype) < 2:
        other = tensor_for(other, int64, other.device)
    else:
        power = emit("minimum", tensor_for(other, kind, other.device), 1e4)
        power = emit("maximum", power, -1e4)  # equivalent to infinity, whose fraction is undefined
        other = emit("floor", power)
        input = emit("mul", input, emit("exp2", emit("sub", power, other)))
    return emit("ldexp", input, other, out=out)


def _settled(number: Tensor) -> Tensor:
    """A number as a tensor of the operand's type: alone it would get the default type."""
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
    product = emit("mul", x, emit("log", _settled(y)))
    quiet = emit("logical_and", emit("equal", x, 0), emit("equal", y, y))
    return emit("where", quiet, tensor_for(0, kind, x.device), product, out=out)


@function
def lerp(start: Tensor, end: Tensor, weight: Operand, *, out: Any = None) -> Tensor:
    """start + weight * (end - start), broadcast; exact at both ends.

    >>> infinicore.lerp(infinicore.zeros(2), infinicore.ones(2), 0.25)
    tensor([0.2500, 0.2500])
    """
    weight = tensor_for(weight, start.dtype, start.device)
    shape = broadcast([tuple(each.shape) for each in (start, end, weight)])
    start, end = start.expand(*shape), end.expand(*shape)
    weight = weight.expand(*shape)
    return emit("lerp", start, end, weight, out=out)


setattr(Tensor, "lerp", lerp)  # noqa: B010


def _in_one(factor: float, *operands: Any) -> bool:
    """Whether these are tensors of one floating-point type whose operators support factors, which
    are float32 in C."""
    kind = operands[0].dtype
    if category(kind) != 2 or any(e._role == "number" or e.dtype is not kind for e in operands):
        return False
    return kind is not float64 or ctypes.c_float(factor).value == factor


@function
def addcmul(
    input: Tensor, tensor1: Operand, tensor2: Operand, value: float = 1.0, *, out: Any = None
) -> Tensor:
    """input + value * tensor1 * tensor2, broadcast.

    >>> infinicore.addcmul(infinicore.ones(2), infinicore.ones(2), infinicore.ones(2), 0.5)
    tensor([1.5000, 1.5000])
    """
    if _in_one(value, input, tensor1, tensor2):
        return emit("addcmul", input, tensor1, tensor2, value=float(value), out=out)
    product = emit("mul", tensor1, tensor2)
    if value != 1:
        product = emit("mul", product, tensor_for(value, product.dtype, input.device))
    return emit("add", input, product, out=out)


@function
def nextafter(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """The next representable number after input towards other; other if they are equal.

    >>> infinicore.nextafter(infinicore.tensor([1.0]), infinicore.tensor([2.0])) > 1
    tensor([True])
    """
    kind = result_type(input, other)
    if kind not in (float16, bfloat16):
        return emit("nextafter", input, other, out=out)
    # Adjacent floats differ by 1 in their bit patterns, which increase away from zero.
    where = device_of((input, other))
    a, b = (tensor_for(each, kind, where).view(int16) for each in (input, other))
    made = emit("nextafter_bits", a, b, infinity=0x7C00 if kind is float16 else 0x7F80)
    made = made.view(kind)
    return placed("nextafter", made, out)


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
    if _in_one(1.0, input, tensor1, tensor2):
        return emit("addcdiv", input, tensor1, tensor2, value=float(value), out=out)
    if value != 1 and not math.isnan(value):
        tensor1 = emit("mul", tensor1, tensor_for(value, tensor1.dtype, input.device))
    return emit("add", input, emit("div", tensor1, tensor2), out=out)


@function
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    beta: float = 1.0,
    alpha: float = 1.0,
    out: Any = None,
) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2); the input broadcasts.

    >>> infinicore.addr(infinicore.zeros(1), infinicore.ones(2), infinicore.ones(2)).shape
    infinicore.Size([2, 2])
    """
    _check_ranks("addr", vec1=(vec1, 1), vec2=(vec2, 1))
    if beta != 0 and all(_in_one(each, input, vec1, vec2) for each in (beta, alpha)):
        input = _grown("addr", input, (vec1.shape[0], vec2.shape[0]))
        return emit("addr", input, vec1, vec2, beta=float(beta), alpha=float(alpha), out=out)
    made = emit("mul", vec1.unsqueeze(1), vec2)
    if alpha != 1:
        made = emit("mul", made, tensor_for(alpha, made.dtype, made.device))
    return _added("addr", input, made, beta, out)
