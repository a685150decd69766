"""Statuses of C functions as exceptions."""

from __future__ import annotations

from libinfiniop._enums import InfiniStatus
from libinfiniop.liboperators import LIBINFINIOP


class InfiniError(RuntimeError):
    """A C function did not succeed. `status` is its number, `name` its name in C."""

    def __init__(self, status: int, message: str = "") -> None:
        try:
            self.name = f"INFINI_STATUS_{InfiniStatus(status).name}"
        except ValueError:
            self.name = "a status that infiniStatus_t does not have"
        super().__init__(f"{self.name} ({status})" + (f": {message}" if message else ""))
        self.status = status


def check_error(status: int) -> None:
    """Raise `InfiniError` unless a C function returned success.

    >>> check_error(LIBINFINIOP.infiniopCreateHandle(ctypes.byref(handle)))
    """
    if status != 0:
        raise InfiniError(status, last_message())


def last_message() -> str:
    """The runtime's message for this thread's last failed call; empty if unavailable."""
    try:
        message = LIBINFINIOP.infiniGetLastErrorMessage()
    except AttributeError:  # an older library
        return ""
    return message.decode(errors="replace") if message else ""
