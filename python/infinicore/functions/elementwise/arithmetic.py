"""Arithmetic of tensors and numbers."""

from __future__ import annotations

from typing import Any

from infinicore._dtype import bool_, category, complex128, dtype, float64
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor


def _times(operand: Tensor, alpha: float, kind: dtype) -> Tensor:
    """alpha * operand in a type; a negative alpha of an unsigned type wraps, as in torch."""
    bits = 8 * kind.itemsize
    if category(kind) == 1 and not kind.is_signed and -(2**bits) < alpha < 0:
        alpha += 2**bits
    return emit("mul", operand, tensor_for(alpha, kind, operand.device))


@function
def add(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """input + alpha * other, broadcast.

    >>> infinicore.add(infinicore.ones(2), 1)
    tensor([2., 2.])
    """
    if alpha != 1:
        other = _times(other, alpha, result_type(input, other))
    return emit("add", input, other, out=out)


@function
def sub(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """input - alpha * other, broadcast.

    >>> infinicore.sub(infinicore.ones(2), 3)
    tensor([-2., -2.])
    """
    if alpha != 1:
        other = _times(other, alpha, result_type(input, other))
    return emit("sub", input, other, out=out)


@function
def rsub(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """other - alpha * input, broadcast.

    >>> infinicore.rsub(infinicore.ones(2), 3)
    tensor([2., 2.])
    """
    if alpha != 1:
        input = _times(input, alpha, result_type(input, other))
    return emit("sub", other, input, out=out)


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
        return emit("trunc_divide", input, other, out=out)
    # Exact for integers: the remainder has the sign of the dividend.
    return emit("floor_divide", emit("sub", input, emit("fmod", input, other)), other, out=out)


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
        if not isinstance(each, (Tensor, int, float, complex)):
            raise TypeError(f"{name}: {type(each).__name__}: expected a tensor or a number")


# Powers that have an operator of their own, as in torch.
_ROOTS = {0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}


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
            if exponent == 1:
                return emit("mul", input, 1, out=out)
            if exponent in _ROOTS and kind.is_floating_point:
                return emit(_ROOTS[exponent], input, out=out)
            if exponent in (4, -2) and kind.itemsize > 2:  # a square of 16 bits would be rounded
                square = emit("mul", input, input)
                if exponent == 4:
                    return emit("mul", square, square, out=out)
                return emit("reciprocal", square, out=out)
    if result_type(input, exponent) is bool_:
        where = input.device if isinstance(input, Tensor) else exponent.device
        base, power = (tensor_for(each, bool_, where) for each in (input, exponent))
        return emit("logical_or", base, emit("logical_not", power), out=out)
    return emit("pow", input, exponent, out=out)


@function
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """input to the power of the exponent, in float64.

    >>> infinicore.float_power(infinicore.tensor([1, 2]), 0.5)
    tensor([1.0000, 1.4142], dtype=infinicore.float64)
    """
    _check_power("float_power", input, exponent)
    kind = complex128 if result_type(input, exponent).is_complex else float64
    if not isinstance(input, Tensor):
        input = tensor_for(input, kind, exponent.device)
    if not isinstance(exponent, Tensor):
        exponent = tensor_for(exponent, kind, input.device)
    return emit("pow", cast_to(input, kind), cast_to(exponent, kind), out=out)


divide = true_divide = div

subtract = sub
