"""The ctypes table: argument types of every function that libinfiniop exports."""

from __future__ import annotations

from collections.abc import Iterable

from .. import Api, First
from ..operators import OPERATORS
from . import text
from .operator_face import WORDS
from .operator_headers import HANDLE, OPERATOR, TENSOR, signatures

PART = "python"

LETTERS = {
    "bool": "b",
    "char": "c",
    "uint8_t": "B",
    "int": "i",
    "int64_t": "q",
    "uint64_t": "Q",
    "size_t": "N",
    "ptrdiff_t": "n",
    "float": "f",
    "double": "d",
    "infiniDtype_t": "i",
    **dict.fromkeys(WORDS, "i"),
}


def files(api: Api, first: First) -> dict[str, str]:
    return {"python/infinicore/op/_ctypes.py": _module()}


def letter_of(declaration: str) -> str:
    """The type of a parameter from its C declaration with the name."""
    if "*" in declaration or declaration.split()[0].endswith(("Descriptor_t", "Handle_t")):
        return "P"
    return LETTERS[declaration.rpartition(" ")[0].removeprefix("const ")]


def functions() -> Iterable[tuple[str, list[str]]]:
    """Name and parameters of every function."""
    for block in (HANDLE, TENSOR, OPERATOR):
        for statement in block.split("INFINI_EXPORT infiniStatus_t ")[1:]:
            head, _, params = statement.partition(");")[0].partition("(")
            yield head, [" ".join(param.split()) for param in params.split(",")]
    for operator in OPERATORS:
        yield from signatures(operator)


def _module() -> str:
    rows = "".join(
        f'    "{name}": "{"".join(map(letter_of, params))}",\n' for name, params in functions()
    )
    return f'''\
"""Prototypes of libinfiniop for ctypes. {text.NOTE}

    op = load()
    op.infiniopCreateHandle(ctypes.byref(handle))

Every function returns a status, 0 for success.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

# A letter for each parameter, as the struct module has them; c is a small integer, P any pointer.
TYPES = {{
    "P": ctypes.c_void_p,
    "N": ctypes.c_size_t,
    "n": ctypes.c_ssize_t,
    "b": ctypes.c_bool,
    "c": ctypes.c_byte,
    "B": ctypes.c_uint8,
    "i": ctypes.c_int,
    "q": ctypes.c_int64,
    "Q": ctypes.c_uint64,
    "f": ctypes.c_float,
    "d": ctypes.c_double,
}}

FUNCTIONS = {{
{rows}}}


def prototype(library: ctypes.CDLL, name: str) -> None:
    """Set the types of one function."""
    function = getattr(library, name)
    function.argtypes = [TYPES[letter] for letter in FUNCTIONS[name]]
    function.restype = ctypes.c_int


def load(path: str | Path | None = None) -> ctypes.CDLL:
    """The library with all prototypes set; the package's own if no path is given."""
    if path is None:
        from infinicore.cli.config import root

        path = root() / "lib" / "libinfiniop.so"
    library = ctypes.CDLL(str(path))
    for name in FUNCTIONS:
        prototype(library, name)
    return library'''
