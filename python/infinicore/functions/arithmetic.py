"""Arithmetic of tensors and numbers."""

from __future__ import annotations

from typing import Any

from infinicore._emit import emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor

__all__ = ["add", "div", "mul", "neg", "rsub", "sub"]


@function
def add(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """input + alpha * other, broadcast.

    >>> infinicore.add(infinicore.ones(2), 1)
    tensor([2., 2.])
    """
    if alpha != 1:
        other = emit("mul", other, tensor_for(alpha, result_type(input, other), input.device))
    return emit("add", input, other, out=out)


@function
def sub(input: Operand, other: Operand, *, alpha: float = 1, out: Any = None) -> Tensor:
    """input - alpha * other, broadcast."""
    if alpha != 1:
        other = emit("mul", other, tensor_for(alpha, result_type(input, other), input.device))
    return emit("sub", input, other, out=out)


@function
def rsub(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other - input, broadcast."""
    return emit("sub", other, input, out=out)


@function
def mul(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input * other, broadcast."""
    return emit("mul", input, other, out=out)


@function
def div(
    input: Operand, other: Operand, *, rounding_mode: str | None = None, out: Any = None
) -> Tensor:
    """input / other, broadcast; integers give floats. With `rounding_mode` "floor" or "trunc" the
    quotient is rounded and integers stay integers."""
    if rounding_mode is None:
        return emit("div", input, other, out=out)
    if rounding_mode == "floor":
        return emit("floor_divide", input, other, out=out)
    if rounding_mode != "trunc":
        raise ValueError(f"div: rounding_mode is {rounding_mode!r}: expected 'floor' or 'trunc'")
    return emit("trunc", emit("div", input, other), out=out)


@function
def neg(input: Tensor, *, out: Any = None) -> Tensor:
    """-input."""
    return emit("neg", input, out=out)
