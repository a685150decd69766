"""Queries about tensors and element types."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._dtype import category, dtype, get_default_dtype
from infinicore._tensor import Tensor
from infinicore.functions._checks import need_tensor

# Bits of the mantissa and of the exponent.
_FLOATS = {"F8": (3, 4), "F16": (10, 5), "BF16": (7, 8), "F32": (23, 8), "F64": (52, 11)}


class finfo:  # noqa: N801
    """Limits of a floating-point type: bits, eps, max, min, tiny, smallest_normal, resolution.

    >>> infinicore.finfo(infinicore.float16).max
    65504.0
    """

    def __init__(self, type: dtype | None = None) -> None:
        kind = get_default_dtype() if type is None else type
        if not isinstance(kind, dtype) or kind._code not in _FLOATS:
            raise TypeError(f"finfo: type is {type!r}: expected a floating-point type")
        mantissa, exponent = _FLOATS[kind._code]
        bias = 2 ** (exponent - 1) - 1
        self.dtype = kind._name
        self.bits = 8 * kind.itemsize
        self.eps = 2.0**-mantissa
        self.tiny = self.smallest_normal = 2.0 ** (1 - bias)
        # float8_e4m3fn has only one NaN pattern and no infinities.
        self.max = 448.0 if kind._code == "F8" else (2 - self.eps) * 2.0**bias
        self.min = -self.max
        self.resolution = 10.0 ** -int(mantissa * 0.30103)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g},"
            f" eps={self.eps:g}, smallest_normal={self.tiny:g}, tiny={self.tiny:g},"
            f" dtype={self.dtype})"
        )


class iinfo:  # noqa: N801
    """Limits of an integer type: bits, max, min.

    >>> infinicore.iinfo(infinicore.int8).min
    -128
    """

    def __init__(self, type: dtype) -> None:
        if not isinstance(type, dtype) or category(type) != 1:
            raise TypeError(f"iinfo: type is {type!r}: expected an integer type")
        self.dtype = type._name
        self.bits = 8 * type.itemsize
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def is_tensor(obj: Any) -> bool:
    """Whether an object is a tensor.

    >>> infinicore.is_tensor(infinicore.ones(1))
    True
    """
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floats.

    >>> infinicore.is_floating_point(infinicore.ones(1))
    True
    """
    return need_tensor("is_floating_point", "input", input).dtype.is_floating_point


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers.

    >>> infinicore.is_complex(infinicore.ones(1))
    False
    """
    return need_tensor("is_complex", "input", input).dtype.is_complex


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is nonzero.

    >>> infinicore.is_nonzero(infinicore.ones(1))
    True
    """
    _core.refuse_while_recording("is_nonzero")
    return bool(need_tensor("is_nonzero", "input", input))


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> infinicore.numel(infinicore.ones(2, 3))
    6
    """
    return need_tensor("numel", "input", input).numel()


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether values of a type can be cast to another under promotion rules: never to a lower
    category.

    >>> infinicore.can_cast(infinicore.float32, infinicore.int32)
    False
    """
    for each in (from_, to):
        if not isinstance(each, dtype):
            raise TypeError(f"can_cast: {each!r}: expected an element type")
    return category(from_) <= category(to)
