"""libinfiniccl, opened on first use."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from infinicore import _rt
from infinicore.ccl._prototypes import PROTOTYPES


class CclError(RuntimeError):
    """A call failed; `status` is its infiniStatus_t."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@cache
def library() -> ctypes.CDLL:
    folder = Path(_rt.__file__).parent / "_root" / "lib"
    opened = ctypes.CDLL(str(folder / "libinfiniccl.so"))
    for name, types in PROTOTYPES.items():
        getattr(opened, name).argtypes = list(types)
    return opened


def call(name: str, *arguments: Any) -> None:
    status = getattr(library(), f"infiniccl{name}")(*arguments)
    if status:
        raise CclError(status, last_message())


def describe(kind: int) -> str:
    """A description of the collectives library of a device type (infiniDevice_t); may be empty.
    Raises an error with the reason if there is none."""
    text = ctypes.create_string_buffer(1024)
    call("Describe", kind, text, len(text))
    return text.value.decode(errors="replace")


def last_message() -> str:
    """The calling thread's last error message."""
    return _rt._last_error_message()
