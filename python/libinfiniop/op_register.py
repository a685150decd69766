"""Argument types of every function in the spec, and of functions added by users."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar

from libinfiniop import _prototypes
from libinfiniop.structs import (
    BackendInfo,
    infiniopHandle_t,
    infiniopOperatorDescriptor_t,
    infiniopTensorDescriptor_t,
)

__all__ = ["OpRegister"]

# The letters of _prototypes.
_TYPES: dict[str, Any] = {
    "H": infiniopHandle_t,
    "h": ctypes.POINTER(infiniopHandle_t),
    "T": infiniopTensorDescriptor_t,
    "t": ctypes.POINTER(infiniopTensorDescriptor_t),
    "O": infiniopOperatorDescriptor_t,
    "o": ctypes.POINTER(infiniopOperatorDescriptor_t),
    "z": ctypes.POINTER(ctypes.c_size_t),
    "P": ctypes.c_void_p,
    "N": ctypes.c_size_t,
    "n": ctypes.c_ssize_t,
    "b": ctypes.c_bool,
    "c": ctypes.c_byte,
    "B": ctypes.c_uint8,
    "i": ctypes.c_int,
    "I": ctypes.c_uint32,
    "q": ctypes.c_int64,
    "Q": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
}

Registration = Callable[[Any], None]
_R = TypeVar("_R", bound=Registration)


class OpRegister:
    """Functions that set the argument types of an operator's C functions.

    The operators of the spec are already registered. To add one of your own library:

    >>> @OpRegister.operator
    ... def my_relu(lib):
    ...     lib.infiniopMyRelu.restype = ctypes.c_int
    ...     lib.infiniopMyRelu.argtypes = [infiniopOperatorDescriptor_t, ctypes.c_void_p]
    """

    registry: ClassVar[list[Registration]] = []
    _open: ClassVar[list[Any]] = []

    @classmethod
    def operator(cls, op: _R) -> _R:
        """Register a function of the library; it is applied to open libraries immediately."""
        cls.registry.append(op)
        for library in cls._open:
            op(library)
        return op

    @classmethod
    def register_lib(cls, lib: Any) -> None:
        """Set the types of all registered operators in a library, and of those registered later."""
        for op in cls.registry:
            op(lib)
        cls._open.append(lib)


def set_prototypes(lib: Any, table: Mapping[str, str]) -> None:
    """Functions that a library lacks are skipped: using them raises an error."""
    for name, letters in table.items():
        function = getattr(lib, name, None)
        if function is not None:
            function.argtypes = [_TYPES[letter] for letter in letters]
            function.restype = ctypes.c_int


def set_runtime_prototypes(lib: Any) -> None:
    """The functions of libinfinirt: the first generation, and those of infini/ext.h."""
    set_prototypes(lib, _prototypes.RUNTIME)
    by_hand: Iterable[tuple[str, list[Any], Any]] = [
        ("infiniGetLastErrorMessage", [], ctypes.c_char_p),
        ("infinirtSetDeviceKind", [ctypes.c_char_p], ctypes.c_int),
        ("infinirtGetDeviceKind", [], ctypes.c_char_p),
        ("infinirtGetBackendCount", [], ctypes.c_int),
        ("infinirtGetBackendInfo", [ctypes.c_int, ctypes.POINTER(BackendInfo)], ctypes.c_int),
        ("infinirtLoadBackend", [ctypes.c_char_p], ctypes.c_int),
    ]
    for name, argtypes, restype in by_hand:
        function = getattr(lib, name, None)
        if function is not None:
            function.argtypes, function.restype = argtypes, restype


def _registration(name: str, table: Mapping[str, str]) -> Registration:
    def register(lib: Any) -> None:
        set_prototypes(lib, table)

    register.__name__ = register.__qualname__ = name
    return register


OpRegister.operator(_registration("common", _prototypes.COMMON))
for _name, _table in _prototypes.OPERATORS.items():
    OpRegister.operator(_registration(_name, _table))
