"""Creation of tensors by size, and the code shared by all functions that create tensors."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore import _dtype as types
from infinicore._data import tensor
from infinicore._defaults import CPU, _kind_of, _kind_of_value, _place, state
from infinicore._device import device as device_class
from infinicore._dtype import dtype as dtype_class
from infinicore._elements import copy, fill
from infinicore._memory_format import memory_format
from infinicore._tensor import Tensor

# ---- Arguments and results -----------------------------------------------------------------------


def _shape_of(function: str, sizes: tuple[Any, ...], size: Any = None) -> Any:
    """Sizes given one by one, as one sequence, or by keyword."""
    if size is not None:
        if sizes:
            raise TypeError(f"{function}: size is given twice")
        return size
    if len(sizes) == 1 and not isinstance(sizes[0], int) and hasattr(sizes[0], "__len__"):
        return sizes[0]
    return sizes


def _need_type(function: str, out: Any, kind: Any) -> None:
    """Checks `out` for functions whose result type does not depend on the operands."""
    if isinstance(out, Tensor) and out.dtype is not kind:
        raise TypeError(f"{function}: out has type {out.dtype!r}: expected {kind!r}")


def _into(function: str, out: Any, result: Tensor) -> Tensor:
    """Copies a result into the `out` tensor."""
    if out is None:
        return result
    if not isinstance(out, Tensor):
        raise TypeError(f"{function}: out is {type(out).__name__}: expected a tensor")
    if out.shape != result.shape:
        raise ValueError(
            f"{function}: out has shape {tuple(out.shape)}: expected {tuple(result.shape)}"
        )
    return copy(out, result)


# ---- Of a size -----------------------------------------------------------------------------------


def empty(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    out: Any = None,
) -> Tensor:
    """An uninitialized tensor. Sizes are given one by one or in a sequence.

    >>> infinicore.empty(2, 3).shape
    infinicore.Size([2, 3])
    """
    if out is not None:
        return out  # type: ignore[no-any-return]
    # Avoids calls where possible: this is on the hot path.
    shape = sizes if len(sizes) > 1 and size is None else _shape_of("empty", sizes, size)
    kind = types._default if dtype is None else _kind_of("empty", dtype)
    where = (state.where or CPU) if device is None else _place(device)
    return _core.empty(shape, kind, where, None, pin_memory)


def strided_empty(
    size: Any,
    strides: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor with these strides, counted in elements, whose elements are not set.

    >>> infinicore.strided_empty((2, 3), (1, 2)).stride()
    (1, 2)
    """
    kind = _kind_of("strided_empty", dtype)
    return _core.empty(size, kind, _place(device), strides, pin_memory)


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Any = None, pin_memory: bool = False
) -> Tensor:
    """A tensor with these strides, counted in elements, whose elements are not set.

    >>> infinicore.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return strided_empty(size, stride, dtype=dtype, device=device, pin_memory=pin_memory)


def empty_permuted(
    size: Any,
    physical_layout: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """An uninitialized tensor whose dimensions are laid out in memory in this order, outermost
    first.

    >>> infinicore.empty_permuted((2, 3), (1, 0)).stride()
    (1, 2)
    """
    sizes, order = tuple(size), tuple(physical_layout)
    if sorted(order) != list(range(len(sizes))):
        raise RuntimeError(
            f"empty_permuted: physical_layout is {order}: expected the {len(sizes)} dimensions,"
            " each once"
        )
    steps, step = [1] * len(sizes), 1
    for dim in reversed(order):
        steps[dim] = step
        step *= max(sizes[dim], 1)
    return strided_empty(sizes, steps, dtype=dtype, device=device, pin_memory=pin_memory)


def zeros(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    out: Any = None,
) -> Tensor:
    """A tensor of zeros.

    >>> infinicore.zeros(2)
    tensor([0., 0.])
    """
    shape = _shape_of("zeros", sizes, size)
    if out is not None:
        return fill(out, 0)
    return _core.zeros(shape, _kind_of("zeros", dtype), _place(device), pin_memory)


def ones(
    *sizes: Any,
    size: Any = None,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    out: Any = None,
) -> Tensor:
    """A tensor of ones.

    >>> infinicore.ones(2)
    tensor([1., 1.])
    """
    shape = _shape_of("ones", sizes, size)
    if out is not None:
        return fill(out, 1)
    return _core.ones(shape, _kind_of("ones", dtype), _place(device), pin_memory)


def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    out: Any = None,
) -> Tensor:
    """A tensor filled with one value, whose type determines the element type.

    >>> infinicore.full((2, 2), 7)
    tensor([[7, 7],
            [7, 7]])
    """
    if out is not None:
        return fill(out, fill_value)
    kind = _kind_of("full", dtype, _kind_of_value(fill_value))
    return fill(_core.empty(size, kind, _place(device), None, pin_memory), fill_value)


def empty_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """An uninitialized contiguous tensor with the shape, type and device of the input.

    >>> infinicore.empty_like(infinicore.ones(2, 3)).shape
    infinicore.Size([2, 3])
    """
    kind, where = _like_of("empty_like", input, dtype, device)
    return _core.empty(input.shape, kind, where)


def zeros_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of zeros with the shape, type and device of the input.

    >>> infinicore.zeros_like(infinicore.ones(2))
    tensor([0., 0.])
    """
    kind, where = _like_of("zeros_like", input, dtype, device)
    return _core.zeros(input.shape, kind, where)


def ones_like(input: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of ones with the shape, type and device of the input.

    >>> infinicore.ones_like(infinicore.zeros(2))
    tensor([1., 1.])
    """
    kind, where = _like_of("ones_like", input, dtype, device)
    return _core.ones(input.shape, kind, where)


def full_like(input: Tensor, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor filled with one value, with the shape, type and device of the input.

    >>> infinicore.full_like(infinicore.zeros(2), 3)
    tensor([3., 3.])
    """
    kind, where = _like_of("full_like", input, dtype, device)
    return fill(_core.empty(input.shape, kind, where), fill_value)


def _like_of(
    function: str, input: Any, dtype: Any, device: Any
) -> tuple[dtype_class, device_class]:
    if not isinstance(input, Tensor):
        raise TypeError(f"{function}: input is {type(input).__name__}: expected a tensor")
    where = input.device if device is None else _place(device)
    return _kind_of(function, dtype, input.dtype), where


def clone(input: Tensor, *, memory_format: memory_format | None = None) -> Tensor:
    """A contiguous copy.

    >>> infinicore.clone(infinicore.ones(2))
    tensor([1., 1.])
    """
    return input.clone(memory_format=memory_format)


# ---- With the type and device of another tensor ------------------------------------------------


def new_empty(
    input: Tensor, *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """An uninitialized tensor with the type and device of this one.

    >>> infinicore.ones(1).new_empty(2, 3).shape
    infinicore.Size([2, 3])
    """
    kind = _like_of("new_empty", input, dtype, device)
    return _core.empty(_shape_of("new_empty", sizes, size), *kind)


def new_empty_strided(
    input: Tensor, size: Any, stride: Any, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """Like `new_empty`, with the given strides, counted in elements.

    >>> infinicore.ones(1).new_empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    return _core.empty(size, *_like_of("new_empty_strided", input, dtype, device), stride)


def new_zeros(
    input: Tensor, *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """A tensor of zeros with the type and device of this one.

    >>> infinicore.ones(1).new_zeros(2)
    tensor([0., 0.])
    """
    kind = _like_of("new_zeros", input, dtype, device)
    return _core.zeros(_shape_of("new_zeros", sizes, size), *kind)


def new_ones(
    input: Tensor, *sizes: Any, size: Any = None, dtype: Any = None, device: Any = None
) -> Tensor:
    """A tensor of ones with the type and device of this one.

    >>> infinicore.zeros(1).new_ones(2)
    tensor([1., 1.])
    """
    kind = _like_of("new_ones", input, dtype, device)
    return _core.ones(_shape_of("new_ones", sizes, size), *kind)


def new_full(
    input: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """A tensor filled with one value, with the type and device of this one.

    >>> infinicore.zeros(1).new_full((2,), 3)
    tensor([3., 3.])
    """
    return fill(_core.empty(size, *_like_of("new_full", input, dtype, device)), fill_value)


def new_tensor(input: Tensor, data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor from numbers, nested lists or an array, with the type and device of this one.

    >>> infinicore.zeros(1).new_tensor([1, 2])
    tensor([1., 2.])
    """
    kind, where = _like_of("new_tensor", input, dtype, device)
    return tensor(data, dtype=kind, device=where)
