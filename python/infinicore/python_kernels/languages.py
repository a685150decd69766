"""The languages of kernels, and the state that must be set up while a kernel is called."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

from infinicore import _core
from infinicore._device import device as device_class
from infinicore.python_kernels.packages import install_hint

_CPU = device_class("cpu")._underlying[0]


class Language(NamedTuple):
    check: Callable[[device_class], None]  # raises if kernels for this device can't work
    scope: Callable[[int, int], AbstractContextManager[None]]  # type and number of the device


# ---- Python --------------------------------------------------------------------------------------


def _anywhere(device: device_class) -> None:
    pass


@contextmanager
def _plain(kind: int, index: int) -> Iterator[None]:
    yield


# ---- Triton, and what compiles to it -------------------------------------------------------------


class _Here(threading.local):
    """The stream and device of the kernel that this thread is calling."""

    stream: int | None = None
    index: int = 0


_here = _Here()


def is_interpreted() -> bool:
    """Whether Triton functions are interpreted in Python on the host, which is decided when they
    are created."""
    return os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y")


def _needs(package: str) -> Callable[[device_class], None]:
    def check(device: device_class) -> None:
        kind = device._underlying[0]
        if importlib.util.find_spec(package) is None:
            hint = ""
            if package == "triton" and kind != _CPU:
                hint = f": {install_hint(str(device._underlying).partition(':')[0].lower())}"
            raise ImportError(f"register: kernels of {package} need the package {package!r}{hint}")
        if kind == _CPU and not is_interpreted():
            raise ValueError(
                f"register: {package} has no kernels for the CPU: set TRITON_INTERPRET=1 before it"
                " is imported, and they run in Python"
            )
        if kind != _CPU and is_interpreted():
            raise ValueError(
                "register: TRITON_INTERPRET is set: kernels run on the host, and can't read the"
                f" memory of {device}"
            )

    return check


@contextmanager
def _triton(kind: int, index: int) -> Iterator[None]:
    """Triton's driver asks torch for the stream and the device; here it gets ours."""
    if kind == _CPU:
        yield
        return
    _follow(_driver())
    before = _here.stream, _here.index
    # CUDA's handle of the legacy default stream is 1: 0 would be none.
    _here.stream, _here.index = _core.get_stream(), index
    try:
        yield
    finally:
        _here.stream, _here.index = before


def _driver() -> Any:
    from triton.runtime import driver  # type: ignore[import-not-found, unused-ignore]

    return driver.active


def _follow(driver: Any) -> None:
    """Make the driver report our stream and device while one of our kernels is called."""
    if getattr(driver, "_follows_infinicore", False):
        return
    stream_before, device_before = driver.get_current_stream, driver.get_current_device

    def get_current_stream(device: Any = None) -> Any:
        return stream_before(device) if _here.stream is None else _here.stream

    def get_current_device() -> Any:
        return device_before() if _here.stream is None else _here.index

    driver.get_current_stream = get_current_stream
    driver.get_current_device = get_current_device
    driver._follows_infinicore = True


LANGUAGES = {
    "python": Language(_anywhere, _plain),
    "triton": Language(_needs("triton"), _triton),
    "ninetoothed": Language(_needs("ninetoothed"), _triton),
}
