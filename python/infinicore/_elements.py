"""Writing elements into tensors: conversions, copies, fills."""

from __future__ import annotations

from typing import Any

from infinicore import _core
from infinicore._data import tensor as make
from infinicore._dtype import dtype
from infinicore._emit import _convert, _step, ordered_strides, tensor_for
from infinicore._function import Operand, function
from infinicore.op._operator import function as operator_named

Tensor = _core.Tensor


def _cast(target: Tensor, source: Tensor) -> None:
    _step(operator_named("cast"), [target, source], {})


def write_elements(target: Tensor, source: Tensor) -> None:
    """Converts elements to another type. The two tensors have the same shape and must not
    overlap."""
    _convert(target, source)


@function
def converted(input: Tensor, kind: dtype) -> Tensor:
    order = ordered_strides(input.shape, [input])
    result = _core.empty(input.shape, kind, input.device, order)
    write_elements(result, input)
    return result


@function
def _write(input: Tensor, source: Tensor) -> Tensor:
    write_elements(input, source.expand(*input.shape))
    return input


@function
def _fill(input: Tensor, value: Operand) -> Tensor:
    value = tensor_for(value, input.dtype, input.device)
    _cast(input, value.expand(*input.shape))
    return input


def fill(tensor: Tensor, value: Any) -> Tensor:
    """Writes a number, or a zero-dimensional tensor, to every element."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise ValueError(f"fill_: value has {value.ndim} dimensions: expected a number")
        return copy(tensor, value)
    if tensor.dtype.is_complex or isinstance(value, complex):
        return copy(tensor, _core.constant(value, tensor.dtype, tensor.device))
    if type(value) not in (int, float, bool):
        try:
            value = value.item() if hasattr(value, "item") else float(value)
        except (TypeError, ValueError):
            raise TypeError(f"fill_: value is {value!r}: expected a number") from None
    _fill(tensor, value)
    return tensor


def copy(tensor: Tensor, source: Any) -> Tensor:
    """Copies a number, an array or a tensor into a tensor: any strides, types and devices,
    broadcast."""
    if _core.copy_alike(tensor, source):
        return tensor
    if not isinstance(source, Tensor):
        if isinstance(source, (bool, int, float)):
            return fill(tensor, source)
        source = make(source, device=tensor.device)
    if source.shape != tensor.shape:
        try:
            source = source.expand(*tensor.shape)
        except RuntimeError:
            raise ValueError(
                f"copy_: src has shape {tuple(source.shape)}: expected one that broadcasts to"
                f" {tuple(tensor.shape)}"
            ) from None
    if source.device is not tensor.device:
        # Converted on the source device, so that no more than needed is transferred.
        if source.dtype is not tensor.dtype:
            source = converted(source, tensor.dtype)
    elif source.dtype is not tensor.dtype:
        if not _core.may_overlap(tensor, source):
            _write(tensor, source)
            return tensor
        source = converted(source, tensor.dtype)
    _core.copy_from(tensor, source)
    return tensor
