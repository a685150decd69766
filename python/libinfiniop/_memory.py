"""Data in memory that torch can address, or in device memory accessed through the runtime."""

from __future__ import annotations

import ctypes
import importlib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec

from libinfiniop._enums import InfinirtMemcpyKind
from libinfiniop._status import check_error
from libinfiniop.devices import TORCH_PLUGINS, InfiniDeviceEnum, torch_device_map
from libinfiniop.liboperators import LIBINFINIOP


@cache
def torch_device_of(device: int) -> str | None:
    """The torch device whose memory is that of a device type; None if torch has none."""
    import torch

    name = torch_device_map.get(device)
    if name is None or name == "cpu":
        return name
    plugin = TORCH_PLUGINS.get(device)
    if plugin and find_spec(plugin):
        importlib.import_module(plugin)
    module = getattr(torch, name, None)
    if module is None or not module.is_available():
        return None
    if device == InfiniDeviceEnum.ASCEND:
        module.set_device(0)  # it does not start by itself
    return name


def current_device() -> tuple[int, int]:
    """Type and index of this thread's device."""
    kind, number = ctypes.c_int(), ctypes.c_int()
    check_error(LIBINFINIOP.infinirtGetDevice(ctypes.byref(kind), ctypes.byref(number)))
    return kind.value, number.value


@contextmanager
def on_device(device: int, number: int | None = None) -> Iterator[tuple[int, int]]:
    """A context manager that makes a device current: the given one, or the current one of that
    type, or the first. Restores the previous device afterwards.
    """
    before = current_device()
    if number is None:
        number = before[1] if before[0] == device else 0
    chosen = (int(device), number)
    if chosen != before:
        check_error(LIBINFINIOP.infinirtSetDevice(*chosen))
    try:
        yield chosen
    finally:
        if chosen != before:
            check_error(LIBINFINIOP.infinirtSetDevice(*before))


class DeviceBuffer:
    """Bytes in device memory, freed with this object."""

    def __init__(self, nbytes: int, device: int) -> None:
        address = ctypes.c_void_p()
        with on_device(device) as self._place:
            check_error(LIBINFINIOP.infinirtMalloc(ctypes.byref(address), max(nbytes, 1)))
        assert address.value is not None
        self.address: int = address.value
        self.nbytes = nbytes
        # Not at exit: the process is torn down then, and the device may already be closed.
        weakref.finalize(self, _free, self.address, self._place).atexit = False

    def write(self, source: int) -> None:
        """Fill it from host memory."""
        self._copy(self.address, source, InfinirtMemcpyKind.H2D)

    def read(self, target: int) -> None:
        """Copy all of it to host memory."""
        self._copy(target, self.address, InfinirtMemcpyKind.D2H)

    def _copy(self, target: int, source: int, kind: InfinirtMemcpyKind) -> None:
        if self.nbytes:
            with on_device(*self._place):
                check_error(LIBINFINIOP.infinirtMemcpy(target, source, self.nbytes, kind))


def _free(address: int, place: tuple[int, int]) -> None:
    with on_device(*place):
        check_error(LIBINFINIOP.infinirtFree(address))
