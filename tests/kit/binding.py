"""The library's functions, called from Python by their names.

rt = open_runtime()
stream = rt.StreamCreate()                  # outputs come back; a failure is raised
rt.code.StreamQuery(stream)                 # "ErrorNotReady": the code's name, never raised
rt.StreamNonBlocking, rt.MemcpyDefault      # enumerators and flags
rt.first.GraphLuanch(graph, stream)         # the first generation; always gives the status
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from spec import api, first
from spec.model import Function, Param

from . import types

ERROR_NAMES = {value.value: value.name.removeprefix("infinirt") for value in api.errors.values}
STATUS_NAMES = {value.value: value.name for value in first.enum("infiniStatus_t").values}
CONSTANTS = types.constants()


class Failure(Exception):  # noqa: N818 - a result of the library, not an error of the tests
    def __init__(self, function: str, name: str, message: str) -> None:
        super().__init__(f"{function}: {name}: {message}")
        self.function = function
        self.name = name
        self.message = message


class BackendInfo(ctypes.Structure):
    """infinirtBackendInfo of infini/ext.h."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("name", ctypes.c_char_p),
        ("vendor", ctypes.c_char_p),
        ("version", ctypes.c_char_p),
        ("path", ctypes.c_char_p),
        ("reason", ctypes.c_char_p),
        ("device_count", ctypes.c_int),
        ("device_type", ctypes.c_int),
    ]


@cache
def root() -> Path:
    """The folder with include/ and lib/: INFINI_TEST_ROOT, or that of the installed package."""
    if chosen := os.environ.get("INFINI_TEST_ROOT"):
        return Path(chosen)
    command = [sys.executable, "-m", "infinicore", "config", "--root"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    os.environ["INFINI_TEST_ROOT"] = answer.stdout.strip()  # also for processes started by tests
    return Path(answer.stdout.strip())


def load_library() -> ctypes.CDLL:
    return ctypes.CDLL(str(root() / "lib" / "libinfinirt.so"))


def prototype(library: ctypes.CDLL, function: Function) -> Any:
    entry = getattr(library, function.c_symbol)
    entry.argtypes = [types.value_type(param.type) for param in function.params]
    entry.restype = ctypes.c_char_p if function.returns.endswith("*") else ctypes.c_int
    return entry


def default_of(param: Param) -> int:
    text = param.default.removeprefix("infinirt")
    if text == "NULL":
        return 0
    return CONSTANTS[text] if text in CONSTANTS else int(text, 0)


def plain(value: Any) -> Any:
    """Converts a simple ctypes value to a Python one; null pointers to 0; structs are unchanged."""
    if isinstance(value, ctypes.c_void_p):
        return value.value or 0
    return value.value if isinstance(value, ctypes._SimpleCData) else value


def caller(function: Function, entry: Any, raises: Callable[[str, int], Any]) -> Callable[..., Any]:
    """Takes all parameters except typed outputs, which are allocated here and returned."""

    def call(*given: Any) -> Any:
        arguments, outputs = [], []
        rest = list(given)
        for param in function.params:
            if param.role in ("out", "out?") and not types.is_untyped_output(param):
                outputs.append(types.target_type(param.type)())
                arguments.append(ctypes.byref(outputs[-1]))
            elif rest:
                value = rest.pop(0)
                # A struct or array given for a pointer is passed by its address.
                arguments.append(ctypes.byref(value) if _needs_address(param, value) else value)
            elif param.default:
                arguments.append(default_of(param))
            else:
                raise TypeError(f"{function.name}: {param.name} is missing")
        if rest:
            raise TypeError(f"{function.name}: {len(rest)} arguments too many")
        status = raises(function.c_name, entry(*arguments))
        if status is not None:
            return status if not outputs else (status, *map(plain, outputs))
        if len(outputs) > 1:
            return tuple(map(plain, outputs))
        return plain(outputs[0]) if outputs else None

    call.__name__ = function.name
    return call


def _needs_address(param: Param, value: Any) -> bool:
    is_pointer = types.value_type(param.type) is ctypes.c_void_p
    return (
        is_pointer
        and isinstance(value, (ctypes.Structure, ctypes.Union, ctypes._SimpleCData))
        and (not isinstance(value, ctypes.c_void_p) or param.role in ("inout", "out", "in"))
    )


class Codes:
    """The aligned face, returning the code's name instead of raising."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = api.by_name[name]
        entry = prototype(self._runtime.library, function)
        call = caller(function, entry, lambda _, code: ERROR_NAMES.get(code, code))

        def name_alone(*arguments: Any) -> str:
            answer = call(*arguments)
            code = answer[0] if isinstance(answer, tuple) else answer
            if code == "Success" and name.endswith("Destroy"):
                self._runtime.gone.add(arguments[0])
            return code

        setattr(self, name, name_alone)
        return name_alone


class FirstGeneration:
    """The first-generation face. Returns the status, or (status, outputs...)."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._functions = {function.name: function for function in first.functions}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function = self._functions[name]
        entry = prototype(self._library, function)
        call = caller(function, entry, lambda _, code: STATUS_NAMES.get(code, code))
        setattr(self, name, call)
        return call


class Runtime:
    """The aligned face; a failing call raises Failure."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        self.tags: set[str] = {"asynchronous"}  # device capabilities, set by conftest
        self.gone: set[int] = set()  # handles that were destroyed
        self.gate: Any = None  # an alternative to a host function for holding a stream; see Latch
        self.code = Codes(self)
        self.first = FirstGeneration(library)
        library.infiniGetLastErrorMessage.restype = ctypes.c_char_p
        library.infinirtGetDeviceKind.restype = ctypes.c_char_p
        for name in ("infinirtSetDeviceKind", "infinirtLoadBackend"):
            getattr(library, name).argtypes = [ctypes.c_char_p]
        library.infinirtGetBackendInfo.argtypes = [ctypes.c_int, ctypes.c_void_p]

    def __getattr__(self, name: str) -> Any:
        if name in CONSTANTS and name not in api.by_name:
            return CONSTANTS[name]
        if name not in api.by_name:
            raise AttributeError(f"the spec has neither function nor constant infinirt{name}")
        function = api.by_name[name]
        entry = prototype(self.library, function)
        call = caller(function, entry, self._check) if entry.restype is ctypes.c_int else entry
        if name.endswith("Destroy"):
            call = self._noting(call)
        setattr(self, name, call)
        return call

    def _noting(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def destroy(handle: int) -> None:
            call(handle)
            self.gone.add(handle)

        return destroy

    def _check(self, function: str, code: int) -> None:
        if code:
            raise Failure(function, ERROR_NAMES.get(code, str(code)), self.message())

    def message(self) -> str:
        return self.library.infiniGetLastErrorMessage().decode(errors="replace")

    def kind(self) -> str:
        return self.library.infinirtGetDeviceKind().decode()

    def set_kind(self, kind: str) -> str:
        return STATUS_NAMES[self.library.infinirtSetDeviceKind(kind.encode())]

    def load_backend(self, path: str | Path) -> str:
        return STATUS_NAMES[self.library.infinirtLoadBackend(str(path).encode())]

    def backends(self) -> list[BackendInfo]:
        infos = []
        for index in range(self.library.infinirtGetBackendCount()):
            info = BackendInfo(ctypes.sizeof(BackendInfo))
            status = self.library.infinirtGetBackendInfo(index, ctypes.byref(info))
            assert status == 0, self.message()
            infos.append(info)
        return infos

    def struct(self, name: str, **members: Any) -> Any:
        """A struct by its name without the prefix; nested members as dicts."""
        full = name if name == "dim3" else f"infinirt{name}"
        return _fill(types.struct_type(full)(), members)

    def listed(self, name: str, handle: int) -> list[Any]:
        """All items of a function that first counts, then fills, such as GraphGetNodes."""
        arrays = sum(param.role == "fill" for param in api.by_name[name].params)
        count = ctypes.c_size_t()
        getattr(self, name)(handle, *[None] * arrays, ctypes.byref(count))
        made = [(ctypes.c_void_p * count.value)() for _ in range(arrays)]
        if count.value:
            getattr(self, name)(handle, *made, ctypes.byref(count))
        columns = [[item or 0 for item in array] for array in made]
        return columns[0] if arrays == 1 else list(zip(*columns, strict=True))


def _fill(struct: Any, members: dict[str, Any]) -> Any:
    for name, value in members.items():
        if isinstance(value, dict):
            _fill(getattr(struct, name), value)
        else:
            setattr(struct, name, value)
    return struct


def handles(*items: int) -> Any:
    """An array of handles, for `list` parameters."""
    return (ctypes.c_void_p * len(items))(*items)


@cache
def open_runtime() -> Runtime:
    return Runtime(load_library())
