"""Calls with one bad argument, derived from the spec, and the process that makes them.

    python -m kit.bad_calls START      makes the calls from number START on, a line of JSON for each

Every function of both faces is called with valid arguments, and then again with one of them
replaced by each of the bad values that its type and role suggest. Each call gets new objects. The
process may die in a call; its number is on the last line that was printed.

Not tested: wild addresses of functions, which cannot be checked without calling them, and of arrays
that are filled (`fill`), whose size the callee cannot check.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from spec import api, first
from spec.model import Function, Param

from . import types
from .binding import ERROR_NAMES, STATUS_NAMES, Runtime, load_library, prototype
from .world import World, is_enum, is_function, is_opaque

__all__ = ["bad_values", "cases", "functions", "is_enum", "is_opaque"]

HANDLES = "null, wild, ones, misaligned, interior, destroyed, other kind, foreign"
ADDRESSES = "null, wild, ones, misaligned, interior, freed, pinned, foreign, plain"


def bad_values(param: Param) -> list[str]:
    """Names of the bad values of a parameter; World.bad() makes them."""
    type_ = types.resolve(param.type)
    if is_function(param):
        return ["null"]
    if is_opaque(param):
        return HANDLES.split(", ")
    if param.role == "fill":
        return ["null", "misaligned"]
    if param.role in ("out", "out?", "inout", "text"):
        return ["null", "wild", "ones", "misaligned"]
    if param.role in ("in", "in?", "list", "list?"):
        return ["null", "wild", "ones", "misaligned", "garbage"]
    if param.role == "ptr":
        return ADDRESSES.split(", ")
    if type_ in types.ENUMS:
        return ["minus one", "unknown", "largest"]
    if type_ in ("int", "unsigned int", "uint32_t"):
        return ["zero", "minus one", "large", "largest", "smallest"]
    if type_ in ("size_t", "unsigned long long", "uint64_t"):
        return ["zero", "one", "SIZE_MAX", "half SIZE_MAX", "terabytes"]
    return ["zeros", "ones"]  # a struct


def functions() -> list[tuple[str, Function]]:
    return [("aligned", function) for function in api.entries] + [
        ("first", function) for function in first.functions
    ]


def cases() -> Iterator[tuple[str, Function, int, str]]:
    """(face, function, number of the bad argument or -1, bad value)"""
    for face, function in functions():
        yield face, function, -1, "sane"
        for index, param in enumerate(function.params):
            for value in bad_values(param):
                yield face, function, index, value


def main(start: int) -> None:
    library = load_library()
    rt = Runtime(library)
    everything = list(cases())
    for number in range(start, len(everything)):
        face, function, index, value = everything[number]
        world = World(rt)
        entry = prototype(library, function)
        arguments = [
            world.bad(function, param, value) if at == index else world.sane(function, param)
            for at, param in enumerate(function.params)
        ]
        rt.code.GetLastError()
        os.write(1, f"{number}\n".encode())  # unbuffered: must be written before the call
        code = entry(*arguments)
        if function.returns.endswith("*"):
            answer = {"name": "text", "message": code.decode() if code else ""}
        else:
            names = ERROR_NAMES if face == "aligned" else STATUS_NAMES
            answer = {"name": names.get(code, ""), "message": rt.message() if code else ""}
        os.write(1, (json.dumps({"number": number, **answer}) + "\n").encode())
        world.end()


if __name__ == "__main__":
    main(int(sys.argv[1]))
