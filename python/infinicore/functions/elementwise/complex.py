"""Complex numbers: conjugates, angles, and polar form."""

from __future__ import annotations

from typing import Any

from infinicore._complex_emit import emit_conj, joined
from infinicore._complex_parts import WHOLES, parts
from infinicore._dtype import category, get_default_dtype
from infinicore._emit import cast_to, emit, placed
from infinicore._function import function
from infinicore._tensor import Tensor


@function
def conj_physical(input: Tensor, *, out: Any = None) -> Tensor:
    """Conjugates of complex numbers, as a copy; real numbers are unchanged.

    >>> infinicore.conj_physical(infinicore.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return placed("conj_physical", emit_conj(input), out)


def conj(input: Tensor) -> Tensor:
    """Conjugates of complex numbers; for real numbers, the tensor itself.

    >>> infinicore.conj(infinicore.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"conj: input is {type(input).__name__}: expected a tensor")
    return conj_physical(input) if input.dtype.is_complex else input


def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugation is not lazy here.

    >>> infinicore.resolve_conj(infinicore.ones(1))
    tensor([1.])
    """
    return input


def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negation is not lazy here.

    >>> infinicore.resolve_neg(infinicore.ones(1))
    tensor([1.])
    """
    return input


@function
def angle(input: Tensor, *, out: Any = None) -> Tensor:
    """Angles of complex numbers, between -pi and pi; of real ones 0, or pi where they are negative.

    >>> infinicore.angle(infinicore.tensor([1j, -1j]))
    tensor([ 1.5708, -1.5708])
    """
    if input.dtype.is_complex:
        real, imag = parts(input)
        return placed("angle", emit("atan2", imag, real), out)
    x = input if category(input.dtype) > 1 else cast_to(input, get_default_dtype())
    return placed("angle", emit("angle", x), out)


@function
def polar(abs: Tensor, angle: Tensor, *, out: Any = None) -> Tensor:
    """Complex numbers from absolute values and angles.

    >>> infinicore.polar(infinicore.tensor([2.0]), infinicore.tensor([0.0]))
    tensor([2.+0.j])
    """
    if abs.dtype._code not in WHOLES or angle.dtype is not abs.dtype:
        raise RuntimeError("polar: expected abs and angle as floats of one type")
    real, imag = emit("mul", abs, emit("cos", angle)), emit("mul", abs, emit("sin", angle))
    return placed("polar", joined(real, imag), out)
