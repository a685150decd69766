"""Tensors from data: numbers, nested lists, arrays, other tensors."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore import _dtype as types
from infinicore._defaults import _kind_of, _kind_of_value, _place
from infinicore._dtype import dtype as dtype_class
from infinicore._dtype import get_default_dtype

Tensor = _core.Tensor

__all__ = ["as_tensor", "asarray", "scalar_tensor", "tensor"]


_NUMBERS = {bool, int, float, complex}
_LISTS = {list, tuple}


def flat(function: str, data: Any) -> tuple[list[Any], list[int]]:
    """The numbers of nested lists, and the shape of the nesting."""
    shape: list[int] = []
    items = [data]
    while True:
        kinds = set(map(type, items))
        if kinds <= _NUMBERS:
            return items, shape
        if not kinds <= _LISTS:
            items = [x.tolist() if hasattr(x, "tolist") else x for x in items]
            if not any(isinstance(x, (list, tuple)) for x in items):
                return items, shape
        first = items[0]
        count = len(first) if isinstance(first, (list, tuple)) else -1
        for each in items:
            if not isinstance(each, (list, tuple)) or len(each) != count:
                raise ValueError(
                    f"{function}: the lists in dimension {len(shape)} are not of one length"
                )
        shape.append(count)
        items = [x for each in items for x in each]


def kind_of_numbers(function: str, numbers: list[Any], floats: dtype_class) -> dtype_class:
    kinds = set(map(type, numbers))
    for kind in kinds:
        if not issubclass(kind, (bool, int, float, complex)):
            raise TypeError(f"{function}: an element is a {kind.__name__}: expected numbers")
    if any(issubclass(kind, complex) for kind in kinds):
        return types.complex128 if floats is types.float64 else types.complex64
    if any(issubclass(kind, float) for kind in kinds):
        return floats
    if any(kind is not bool for kind in kinds):
        return types.int64
    return types.bool_ if kinds else floats


def is_number(value: Any) -> bool:
    """Python numbers. NumPy scalars count as zero-dimensional arrays, because they have a type."""
    return isinstance(value, (bool, int, float, complex)) and not hasattr(value, "dtype")


def tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A new tensor with the values of a number, nested lists, an array or a tensor. Integers become
    int64, floats the default type.

    >>> infinicore.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if isinstance(data, Tensor):
        where = data.device if device is None else _place(device)
        return data.to(where, _kind_of("tensor", dtype, data.dtype), copy=True)
    where = _place(device)
    if is_number(data):
        return _core.constant(data, _kind_of("tensor", dtype, _kind_of_value(data)), where)
    if isinstance(data, (list, tuple)):
        numbers, shape = flat("tensor", data)
        kind = _kind_of("tensor", dtype, kind_of_numbers("tensor", numbers, get_default_dtype()))
        return _core.from_numbers(numbers, shape, kind, where)
    made = _core.from_host(data, where, "tensor")
    return made if dtype is None else made.to(_kind_of("tensor", dtype))


def scalar_tensor(value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A zero-dimensional tensor with this value, of the default floating-point type unless `dtype`
    is given.

    >>> infinicore.scalar_tensor(2)
    tensor(2.)
    """
    return _core.constant(value, _kind_of("scalar_tensor", dtype), _place(device))


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """Like `tensor`, but shares memory with tensors, arrays and DLPack objects where possible.

    >>> infinicore.as_tensor([1.0, 2.0])
    tensor([1., 2.])
    """
    if not isinstance(data, Tensor):
        if is_number(data) or isinstance(data, (list, tuple)):
            return tensor(data, dtype=dtype, device=device)
        try:
            data = _core.from_object(data, "as_tensor")
        except BufferError:  # read-only
            return tensor(data, dtype=dtype, device=device)
    where = data.device if device is None else _place(device)
    result: Tensor = data.to(where, _kind_of("as_tensor", dtype, data.dtype))
    return result


def asarray(obj: Any, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """Like `as_tensor`; with `copy=True` the result has its own memory.

    >>> infinicore.asarray([1, 2])
    tensor([1, 2])
    """
    if copy:
        return tensor(obj, dtype=dtype, device=device)
    return as_tensor(obj, dtype, device)
