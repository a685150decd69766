"""Comparisons, logic and bits."""

from __future__ import annotations

import math
from typing import Any

from infinicore import _core
from infinicore._dtype import bool_, category
from infinicore._emit import cast_to, emit, result_type, tensor_for
from infinicore._function import Operand, function
from infinicore._tensor import Tensor
from infinicore.functions.index.nonzero import nonzero


@function
def bitwise_not(input: Tensor, *, out: Any = None) -> Tensor:
    """Inverts all bits; logical not for booleans.

    >>> infinicore.bitwise_not(infinicore.tensor([True, False]))
    tensor([False,  True])
    """
    return emit("logical_not" if input.dtype is bool_ else "bitwise_not", input, out=out)


def _everywhere(input: Tensor, truth: bool, out: Any = None) -> Tensor:
    """One boolean value in the shape of the input."""
    one = tensor_for(truth, bool_, input.device)
    return emit("rearrange", one.expand(*input.shape), out=out)  # type: ignore[no-any-return]


def _infinite(input: Tensor, value: float, out: Any) -> Tensor:
    if category(input.dtype) < 2:
        return _everywhere(input, False, out)
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
    if category(input.dtype) < 2:
        return _everywhere(input, True, out)
    return emit("less", emit("abs", input), math.inf, out=out)


@function
def heaviside(input: Tensor, values: Operand, *, out: Any = None) -> Tensor:
    """The step function: 0 for negative input, 1 for positive, `values` at 0; broadcast.

    >>> infinicore.heaviside(infinicore.tensor([-1., 0., 1.]), infinicore.tensor([0.5]))
    tensor([0.0000, 0.5000, 1.0000])
    """
    return emit("heaviside", input, values, out=out)


@function
def isclose(
    input: Tensor,
    other: Operand,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Tensor:
    """Where the difference of two elements is at most atol + rtol * abs(other).

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
    """Whether all elements are close, as in `isclose`.

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
    a condition: the indices where it is true, a tensor for each dimension.

    >>> infinicore.where(infinicore.tensor([True, False]), 1.0, infinicore.zeros(2))
    tensor([1., 0.])
    """
    if input is None and other is None:
        return nonzero(condition, as_tuple=True)
    if input is None or other is None:
        raise TypeError("where: expected a condition alone, or with both input and other")
    if not isinstance(condition, Tensor):
        raise TypeError(f"where: condition is {type(condition).__name__}: expected a tensor")
    return _where(condition, input, other, out=out)


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """Elements of this tensor where a condition holds, of the other elsewhere; broadcast."""
    return _where(condition, self, other)


_where_method.__name__ = "where"
setattr(Tensor, "where", _where_method)  # noqa: B010
