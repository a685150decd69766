"""Finds and opens libinfiniop and libinfinirt."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from libinfiniop.op_register import OpRegister, set_runtime_prototypes
from libinfiniop.structs import infiniopHandle_t, infiniopTensorDescriptor_t

__all__ = [
    "LIBINFINIOP",
    "InfiniLib",
    "infiniopHandle_t",
    "infiniopTensorDescriptor_t",
    "open_lib",
]

_NAMES = ("libinfinirt.so", "libinfiniop.so")


class InfiniLib:
    """The functions of both libraries as attributes.

    >>> LIBINFINIOP.infiniopCreateHandle(ctypes.byref(handle))
    0

    Without libraries, it opens those of `open_lib` on first use of a function.
    """

    def __init__(self, librt: ctypes.CDLL | None = None, libop: ctypes.CDLL | None = None) -> None:
        if (librt is None) != (libop is None):
            raise TypeError("InfiniLib: expected both libraries or neither")
        self._lock = threading.Lock()
        self._libraries = None if librt is None or libop is None else (librt, libop)

    @property
    def librt(self) -> ctypes.CDLL:
        return self._opened()[0]

    @property
    def libop(self) -> ctypes.CDLL:
        return self._opened()[1]

    def _opened(self) -> tuple[ctypes.CDLL, ctypes.CDLL]:
        if self._libraries is None:
            with self._lock:
                if self._libraries is None:
                    self._libraries = _open_both()
        return self._libraries

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # not a C function: copying and printing open nothing
            raise AttributeError(name)
        librt, libop = self._opened()
        # libinfinirt first: libinfiniop depends on it, so its functions are found through either.
        for library in (librt, libop):
            try:
                function = getattr(library, name)
            except AttributeError:
                continue
            setattr(self, name, function)  # cached as an attribute from now on
            return function
        raise AttributeError(f"{name}: neither in {libop._name} nor in {librt._name}")

    def __repr__(self) -> str:
        if self._libraries is None:
            return "<InfiniLib, not opened yet>"
        librt, libop = self._libraries
        return f"<InfiniLib of {libop._name} and {librt._name}>"


def open_lib() -> InfiniLib:
    """Open the libraries now.

    They are searched for in the folder named by the environment variable INFINI_ROOT, else in the
    installed package infinicore, else in ~/.infini. Raises FileNotFoundError with the folders that
    were searched.
    """
    return InfiniLib(*_open_both())


def _open_both() -> tuple[ctypes.CDLL, ctypes.CDLL]:
    folder = _folder()
    # libinfiniop depends on libinfinirt: opened first, so that it is the one from the same folder.
    librt, libop = (ctypes.CDLL(str(folder / name)) for name in _NAMES)
    set_runtime_prototypes(librt)
    OpRegister.register_lib(libop)
    return librt, libop


def _places() -> Iterator[tuple[str, Path]]:
    """The folders to search, with the reason for each."""
    if root := os.environ.get("INFINI_ROOT"):
        # Nothing else is tried: opening other libraries than the chosen ones would be surprising.
        yield "INFINI_ROOT", Path(root).expanduser()
        return
    if package := find_spec("infinicore"):  # found without being imported
        for folder in package.submodule_search_locations or ():
            yield "the package infinicore", Path(folder) / "_root"
        # Installed with -e, the native files lie beside the extension module.
        if (module := find_spec("infinicore._rt")) and module.origin:
            yield "the module infinicore._rt", Path(module.origin).resolve().parent / "_root"
    yield "the default of INFINI_ROOT", Path.home() / ".infini"


def _folder() -> Path:
    inspected = []
    for why, root in _places():
        folder = root / "lib"
        missing = [name for name in _NAMES if not (folder / name).is_file()]
        if not missing:
            return folder
        inspected.append(f"    {folder} ({why}): no {', no '.join(missing)}")
    if os.environ.get("INFINI_ROOT"):
        advice = "Set INFINI_ROOT to the folder that holds lib/, or unset it to use the package's."
    else:
        advice = "Install the package infinicore, or set INFINI_ROOT to the folder that holds lib/."
    places = "\n".join(inspected)
    raise FileNotFoundError(
        f"libinfiniop and libinfinirt were not found. Looked at:\n{places}\n{advice}"
    )


LIBINFINIOP = InfiniLib()
