"""The default device and element type of new tensors."""

from __future__ import annotations

import threading
from typing import Any

from infinicore import _core
from infinicore import _dtype as types
from infinicore._device import device as device_class
from infinicore._dtype import dtype as dtype_class
from infinicore._dtype import get_default_dtype

__all__ = [
    "get_default_device",
    "get_float32_matmul_precision",
    "set_default_device",
    "set_float32_matmul_precision",
]


class _State(threading.local):
    where: device_class | None = None
    precision = "highest"


state = _State()
CPU = device_class("cpu")


def set_default_device(device: Any) -> None:
    """Set the device on which this thread creates tensors by default; None resets it to the CPU.

    >>> infinicore.set_default_device("cpu")
    """
    state.where = None if device is None else device_class(device)


def get_default_device() -> device_class:
    """The device on which this thread creates tensors by default; initially the CPU.

    >>> infinicore.get_default_device()
    device(type='cpu', index=0)
    """
    return state.where or CPU


_PRECISIONS = ("highest", "high", "medium")


def set_float32_matmul_precision(precision: str) -> None:
    """Set the precision that products of float32 tensors may be reduced to, for this thread:
    "highest", the initial value, is float32; with "high" and "medium" devices with TF32 tensor
    cores (NVIDIA from Ampere on) may round the factors of products and of attention to TF32, with
    11 significant bits. Sums stay float32. Recorded graphs keep the precision in which they were
    recorded. It changes nothing on the CPU.

    >>> infinicore.set_float32_matmul_precision("highest")
    """
    if precision not in _PRECISIONS:
        words = ", ".join(map(repr, _PRECISIONS))
        raise ValueError(
            f"set_float32_matmul_precision: precision is {precision!r}: expected one of {words}"
        )
    state.precision = precision
    _core.set_allow_tf32(precision != "highest")


def get_float32_matmul_precision() -> str:
    """The value set by `set_float32_matmul_precision` in this thread.

    >>> infinicore.get_float32_matmul_precision()
    'highest'
    """
    return state.precision


def _place(device: Any) -> device_class:
    """The device named by an argument."""
    if device is None:
        return state.where or CPU
    if type(device) is device_class:
        return device
    return CPU if device == "cpu" else device_class(device)


def _kind_of(function: str, dtype: Any, otherwise: dtype_class | None = None) -> dtype_class:
    """The element type named by an argument."""
    if dtype is None:
        return otherwise or get_default_dtype()
    if type(dtype) is dtype_class:
        return dtype
    if isinstance(dtype, types.DataType):
        return dtype_class(dtype)
    if dtype in (bool, int, float, complex):
        python = {bool: types.bool_, int: types.int64, complex: _complex_default()}
        return python.get(dtype, get_default_dtype())
    raise TypeError(
        f"{function}: dtype is {dtype!r}: expected an element type such as infinicore.float32"
    )


def _complex_default() -> dtype_class:
    return types.complex128 if get_default_dtype() is types.float64 else types.complex64


def _kind_of_value(value: Any) -> dtype_class:
    if isinstance(value, _core.Tensor):
        return value.dtype
    if isinstance(value, bool):
        return types.bool_
    if isinstance(value, int):
        return types.int64
    return _complex_default() if isinstance(value, complex) else get_default_dtype()
