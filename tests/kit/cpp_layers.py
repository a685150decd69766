"""infinicore::nn called with arrays, through a library compiled from
tests/clients/cpp/layers.cc."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spec import first

from . import build
from .binding import root

SOURCE = Path(__file__).parents[1] / "clients" / "cpp" / "layers.cc"
TYPES = {
    value.name.removeprefix("INFINI_DTYPE_"): value.value
    for value in first.enum("infiniDtype_t").values
}
CODES = {
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int32": "I32",
    "int64": "I64",
    "int8": "I8",
    "uint8": "U8",
}


class Array(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("shape", ctypes.c_size_t * 4),
    )

    @staticmethod
    def of(array: Any, name: str = "") -> Array:
        """A description of a NumPy array, which the caller keeps alive."""
        assert array.flags.c_contiguous
        shape = (ctypes.c_size_t * 4)(*array.shape)
        code = TYPES[CODES[str(array.dtype)]]
        return Array(name.encode(), array.ctypes.data, code, array.ndim, shape)


def build_layers(folder: Path) -> Callable[..., str]:
    """Compiled against the installed headers. Calls a function of it, which returns its error."""
    path, lib = folder / "liblayers.so", root() / "lib"
    flags = ["-std=c++17", "-O0", "-shared", "-fPIC", *build.WARNINGS, f"-I{root() / 'include'}"]
    link = [f"-L{lib}", f"-Wl,-rpath,{lib}", "-linfinicore_cpp_api", "-o", str(path)]
    build.compile_([build.CXX, *flags, str(SOURCE), *link])
    library = ctypes.CDLL(str(path))

    def call(name: str, *arguments: Any) -> str:
        function = getattr(library, name)
        function.restype = ctypes.c_char_p
        given = [ctypes.byref(a) if isinstance(a, ctypes.Structure) else a for a in arguments]
        said: str = function(*given).decode()
        return said

    return call
