"""Comparison, truth values, bits."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._dtype import bool_, category
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor

__all__ = [
    "allclose",
    "bitwise_and",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "eq",
    "equal",
    "ge",
    "greater",
    "greater_equal",
    "gt",
    "heaviside",
    "isclose",
    "isfinite",
    "isinf",
    "isnan",
    "isneginf",
    "isposinf",
    "le",
    "less",
    "less_equal",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "lt",
    "ne",
    "not_equal",
    "signbit",
    "where",
]


@function
def equal(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """Where two tensors, or a tensor and a number, have the same elements; broadcast.

    >>> infinicore.equal(infinicore.tensor([1, 2]), 2)
    tensor([False,  True])
    """
    return emit("equal", input, other, out=out)


@function
def eq(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input == other, element by element.

    >>> infinicore.eq(infinicore.tensor([1, 2, 3]), 2)
    tensor([False,  True, False])
    """
    return emit("equal", input, other, out=out)


@function
def ne(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input != other, element by element.

    >>> infinicore.ne(infinicore.tensor([1, 2, 3]), 2)
    tensor([ True, False,  True])
    """
    return emit("not_equal", input, other, out=out)


@function
def lt(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input < other, element by element.

    >>> infinicore.lt(infinicore.tensor([1, 2]), 2)
    tensor([ True, False])
    """
    return emit("less", input, other, out=out)


@function
def le(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input <= other, element by element.

    >>> infinicore.le(infinicore.tensor([1, 2, 3]), 2)
    tensor([ True,  True, False])
    """
    return emit("less_equal", input, other, out=out)


@function
def gt(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input > other, element by element.

    >>> infinicore.gt(infinicore.tensor([1, 2, 3]), 2)
    tensor([False, False,  True])
    """
    return emit("greater", input, other, out=out)


@function
def ge(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input >= other, element by element.

    >>> infinicore.ge(infinicore.tensor([1, 2, 3]), 2)
    tensor([False,  True,  True])
    """
    return emit("greater_equal", input, other, out=out)


not_equal, less, less_equal, greater, greater_equal = ne, lt, le, gt, ge


@function
def logical_and(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """Where both are not 0, broadcast.

    >>> infinicore.logical_and(infinicore.tensor([0, 1, 2]), infinicore.tensor([0, 0, 1]))
    tensor([False, False,  True])
    """
    return emit("logical_and", input, other, out=out)


@function
def logical_or(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """Where one or both are not 0, broadcast.

    >>> infinicore.logical_or(infinicore.tensor([0, 1, 2]), infinicore.tensor([0, 0, 1]))
    tensor([False,  True,  True])
    """
    return emit("logical_or", input, other, out=out)


@function
def logical_xor(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """Where just one of the two is not 0, broadcast.

    >>> infinicore.logical_xor(infinicore.tensor([0, 1, 2]), infinicore.tensor([0, 0, 1]))
    tensor([False,  True, False])
    """
    return emit("logical_xor", input, other, out=out)


@function
def logical_not(input: Tensor, *, out: Any = None) -> Tensor:
    """Where the input is 0.

    >>> infinicore.logical_not(infinicore.tensor([0, 5]))
    tensor([ True, False])
    """
    return emit("logical_not", input, out=out)


@function
def isnan(input: Tensor, *, out: Any = None) -> Tensor:
    """Where the input is NaN.

    >>> infinicore.isnan(infinicore.tensor([1., float("-inf"), float("nan")]))
    tensor([False, False,  True])
    """
    return emit("isnan", input, out=out)


@function
def isinf(input: Tensor, *, out: Any = None) -> Tensor:
    """Where the input is infinite, of either sign.

    >>> infinicore.isinf(infinicore.tensor([1., float("-inf"), float("nan")]))
    tensor([False,  True, False])
    """
    return emit("isinf", input, out=out)


@function
def signbit(input: Tensor, *, out: Any = None) -> Tensor:
    """Where the sign is set: below 0, and for -0.

    >>> infinicore.signbit(infinicore.tensor([1., -2.]))
    tensor([False,  True])
    """
    return emit("signbit", input, out=out)


@function
def bitwise_and(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """Bits that both have; for truth values: and.

    >>> infinicore.bitwise_and(infinicore.tensor([12, 10]), 6)
    tensor([4, 2])
    """
    return emit("bitwise_and", input, other, out=out)


@function
def bitwise_or(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """Bits that one or both have; for truth values: or.

    >>> infinicore.bitwise_or(infinicore.tensor([12, 10]), 6)
    tensor([14, 14])
    """
    return emit("bitwise_or", input, other, out=out)


@function
def bitwise_xor(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """Bits that just one has; for truth values: not equal.

    >>> infinicore.bitwise_xor(infinicore.tensor([12, 10]), 6)
    tensor([10, 12])
    """
    return emit("bitwise_xor", input, other, out=out)


@function
def bitwise_left_shift(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input * 2 ** other, of integers.

    >>> infinicore.bitwise_left_shift(infinicore.tensor([1, 3]), 2)
    tensor([ 4, 12])
    """
    return emit("bitwise_left_shift", input, other, out=out)


@function
def bitwise_right_shift(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """input / 2 ** other rounded down, of integers.

    >>> infinicore.bitwise_right_shift(infinicore.tensor([12, -5]), 1)
    tensor([ 6, -3])
    """
    return emit("bitwise_right_shift", input, other, out=out)


@function
def rlshift(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other << input."""
    return emit("bitwise_left_shift", other, input, out=out)


@function
def rrshift(input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    """other >> input."""
    return emit("bitwise_right_shift", other, input, out=out)


@function
def bitwise_not(input: Tensor, *, out: Any = None) -> Tensor:
    """All bits inverted; for truth values: not.

    >>> infinicore.bitwise_not(infinicore.tensor([True, False]))
    tensor([False,  True])
    """
    return emit("logical_not" if input.dtype is bool_ else "bitwise_not", input, out=out)


def _infinite(input: Tensor, value: float, out: Any) -> Tensor:
    if category(input.dtype) < 2:
        return emit("logical_and", input, emit("logical_not", input), out=out)
    return emit("equal", input, tensor_for(value, input.dtype, input.device), out=out)


@function
def isposinf(input: Tensor, *, out: Any = None) -> Tensor:
    """Where the input is infinite and above 0.

    >>> infinicore.isposinf(infinicore.tensor([1., float("-inf"), float("nan")]))
    tensor([False, False, False])
    """
    return _infinite(input, math.inf, out)


@function
def isneginf(input: Tensor, *, out: Any = None) -> Tensor:
    """Where the input is infinite and below 0.

    >>> infinicore.isneginf(infinicore.tensor([1., float("-inf"), float("nan")]))
    tensor([False,  True, False])
    """
    return _infinite(input, -math.inf, out)


@function
def isfinite(input: Tensor, *, out: Any = None) -> Tensor:
    """Where the input is neither infinite nor NaN.

    >>> infinicore.isfinite(infinicore.tensor([1., float("inf")]))
    tensor([ True, False])
    """
    return emit(
        "logical_not", emit("logical_or", emit("isinf", input), emit("isnan", input)), out=out
    )


@function
def heaviside(input: Tensor, values: Operand, *, out: Any = None) -> Tensor:
    """0 below 0, 1 above it, and the values at 0; broadcast.

    >>> infinicore.heaviside(infinicore.tensor([-1., 0., 1.]), infinicore.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    kind = result_type(input, values)
    input = cast_to(input, kind)
    step = cast_to(emit("greater", input, 0), kind)
    return emit(
        "where", emit("equal", input, 0), tensor_for(values, kind, input.device), step, out=out
    )


@function
def isclose(
    input: Tensor,
    other: Operand,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Where the distance of two elements is no more than atol + rtol * abs(other).

    >>> infinicore.isclose(infinicore.tensor([1., 2.]), infinicore.tensor([1., 2.1]))
    tensor([ True, False])
    """
    if rtol < 0 or atol < 0:
        raise ValueError("isclose: rtol and atol are 0 or more")
    kind = result_type(input, other)
    input, other = (tensor_for(each, kind, input.device) for each in (input, other))
    close = emit("equal", input, other)
    if equal_nan and category(kind) > 1:
        both = emit("logical_and", emit("isnan", input), emit("isnan", other))
        close = emit("logical_or", close, both)
    if rtol == 0 and atol == 0:
        return close
    if category(kind) < 2:
        kind = result_type(input, 0.5)
        input, other = cast_to(input, kind), cast_to(other, kind)
    distance = emit("abs", emit("sub", input, other))
    allowed = emit("add", emit("abs", emit("mul", other, rtol)), atol)
    near = emit("less_equal", distance, allowed)
    near = emit("logical_and", near, emit("logical_not", emit("isinf", distance)))
    return emit("logical_or", close, near)


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> bool:
    """Whether all elements are close, as `isclose` says.

    >>> infinicore.allclose(infinicore.ones(2), infinicore.ones(2))
    True
    """
    _core.refuse_while_recording("allclose")
    return bool(isclose(input, other, rtol, atol, equal_nan).all().item())


@function
def _where(condition: Tensor, input: Operand, other: Operand, *, out: Any = None) -> Tensor:
    if condition.dtype is not bool_:
        condition = emit("not_equal", condition, 0)
    return emit("where", condition, input, other, out=out)


def where(condition: Tensor, input: Any = None, other: Any = None, *, out: Any = None) -> Any:
    """Elements of the first where a condition holds, of the second elsewhere; broadcast. With only
    a condition: indices of where it holds, a tensor for each dimension.

    >>> infinicore.where(infinicore.tensor([True, False]), 1.0, infinicore.zeros(2))
    tensor([1., 0.])
    """
    if input is None and other is None:
        from infinicore.functions.counting import nonzero

        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError("where: expected a condition alone, or with both input and other")
    if not isinstance(condition, Tensor):
        raise TypeError(f"where: condition is {type(condition).__name__}: expected a tensor")
    return _where(condition, input, other, out=out)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Elements of this tensor where a condition holds, of the other elsewhere; broadcast."""
    return _where(condition, self, other)


setattr(Tensor, "where", _where_method)  # noqa: B010
