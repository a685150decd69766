"""Element types of the array API and its promotion rules. Unlike in `infinicore.result_type`,
zero-dimensional arrays are treated as all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from infinicore import _dtype as types
from infinicore._defaults import _complex_default
from infinicore._dtype import category, dtype, get_default_dtype
from infinicore._tensor import Tensor
from infinicore.functions import types as limits
from infinicore.functions._checks import expect

__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
NAMES = KINDS["bool"] + KINDS["numeric"]


def named(name: str) -> dtype:
    return types.dtype._by_name[name]


def as_array(function: str, argument: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{function}: {argument} is {type(value).__name__}: expected an array")
    return value


def promoted(*kinds: dtype) -> dtype:
    made = kinds[0]
    for kind in kinds[1:]:
        made = types.promote_types(made, kind)
    return made


def result_type(*arrays_and_dtypes: Any) -> dtype:
    """The type that arrays, types and numbers are promoted to. Numbers matter only if they are of a
    higher kind than everything else."""
    kinds, numbers = [], []
    for each in arrays_and_dtypes:
        if isinstance(each, Tensor):
            kinds.append(each.dtype)
        elif isinstance(each, dtype):
            kinds.append(each)
        elif isinstance(each, (bool, int, float, complex)):
            numbers.append(each)
        else:
            raise TypeError(
                f"result_type: {type(each).__name__}: expected an array, a dtype or a number"
            )
    if not kinds:
        raise ValueError("result_type: expected at least one array or dtype")
    made = promoted(*kinds)
    for number in numbers:
        made = _with_number(made, number)
    return made


def _with_number(kind: dtype, number: Any) -> dtype:
    if isinstance(number, complex):
        if category(kind) == 3:
            return kind
        wide = kind is types.float64
        return types.complex128 if wide else types.complex64 if category(kind) == 2 else _complex()
    if isinstance(number, float):
        return kind if category(kind) > 1 else get_default_dtype()
    if isinstance(number, bool) or category(kind) > 0:
        return kind
    return types.int64


def _complex() -> dtype:
    return _complex_default()


def common(function: str, *operands: Any) -> tuple[Any, ...]:
    """Arrays converted to their promoted type. Numbers are unchanged, but complex ones make the
    type of the arrays complex."""
    arrays = [each for each in operands if isinstance(each, Tensor)]
    if not arrays:
        raise TypeError(f"{function}: expected at least one array")
    for each in operands:
        if not isinstance(each, (Tensor, bool, int, float, complex)):
            raise TypeError(f"{function}: {type(each).__name__}: expected an array or a number")
    kind = result_type(*operands)
    if all(each.dtype is kind for each in arrays):
        return operands
    return tuple(each.to(kind) if isinstance(each, Tensor) else each for each in operands)


def can_cast(from_: Any, to: dtype, /) -> bool:
    """Whether a type, or that of an array, can be promoted to another."""
    kind = from_.dtype if isinstance(from_, Tensor) else from_
    for each in (kind, to):
        if not isinstance(each, dtype):
            raise TypeError(f"can_cast: {each!r}: expected an element type")
    return types.promote_types(kind, to) is to


@dataclass(frozen=True)
class _FloatLimits:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: dtype


@dataclass(frozen=True)
class _IntegerLimits:
    bits: int
    max: int
    min: int
    dtype: dtype


def _kind(type: Any) -> Any:
    return type.dtype if isinstance(type, Tensor) else type


def finfo(type: Any, /) -> _FloatLimits:
    """Limits of a floating-point type; for a complex type, those of its parts."""
    kind = _kind(type)
    if isinstance(kind, dtype) and kind.is_complex:
        kind = real_type(kind)
    found = limits.finfo(kind)
    return _FloatLimits(found.bits, found.eps, found.max, found.min, found.smallest_normal, kind)


def iinfo(type: Any, /) -> _IntegerLimits:
    """Limits of an integer type."""
    kind = _kind(type)
    found = limits.iinfo(kind)
    return _IntegerLimits(found.bits, found.max, found.min, kind)


def real_type(kind: dtype) -> dtype:
    """The element type of the parts of complex numbers."""
    return {types.complex64: types.float32, types.complex128: types.float64}.get(kind, kind)


def isdtype(dtype: dtype, kind: Any) -> bool:
    """Whether a type equals another, belongs to a kind such as "integral", or matches one of
    several of these."""
    if not isinstance(dtype, types.dtype):
        raise TypeError(
            f"isdtype: dtype is {dtype!r}: expected an element type of this namespace,"
            " such as infinicore.float32"
        )
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str):
        expect(kind in KINDS, "isdtype", "kind", repr(kind), f"one of {', '.join(KINDS)}")
        return dtype._name in KINDS[kind]
    return bool(dtype == kind)


def astype(x: Tensor, dtype: dtype, /, *, copy: bool = True, device: Any = None) -> Tensor:
    """A copy of an array with another type, and optionally on another device. With `copy=False` it
    may be the array itself."""
    as_array("astype", "x", x)
    return x.to(x.device if device is None else device, dtype, copy=copy)
