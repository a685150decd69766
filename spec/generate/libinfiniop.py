"""The parts of the package libinfiniop that are derived from the spec: the enums, and prototypes
for ctypes. The prototypes distinguish handles and descriptors, so that ctypes rejects one for the
other.
"""

from __future__ import annotations

from itertools import takewhile

from .. import Api, First
from ..model import Enum, Function, parse_enums
from ..operators import ENUMS, OPERATORS
from . import text
from .operator_ctypes import functions, letter_of
from .operator_headers import signatures

PART = "python"

# Enums whose Python name is not the capitalized C name.
NAMES = {"infiniDevice_t": "InfiniDeviceEnum"}

# Letters for typed pointers; all others are operator descriptors.
POINTERS = {
    "infiniopHandle_t": "H",
    "infiniopHandle_t *": "h",
    "infiniopTensorDescriptor_t": "T",
    "infiniopTensorDescriptor_t *": "t",
    "const infiniopTensorDescriptor_t *": "t",
}
RUNTIME = {"int": "i", "uint32_t": "I", "size_t": "N"}


def files(api: Api, first: First) -> dict[str, str]:
    return {
        "python/libinfiniop/_enums.py": _enums(first),
        "python/libinfiniop/_prototypes.py": _prototypes(first),
    }


def all_enums(first: First) -> list[Enum]:
    return [*first.core_enums, *first.enums, *parse_enums(ENUMS)]


def _enums(first: First) -> str:
    classes = [_class(enum) for enum in all_enums(first)]
    sizes = "".join(
        f"    InfiniDtype.{name}: {size},\n" for name, size in first.dtype_bytes.items()
    )
    return f'''\
"""The enums of the C libraries. {text.NOTE}"""

from __future__ import annotations

from enum import IntEnum

{"".join(classes)}
DTYPE_BYTES: dict[int, int] = {{
{sizes}}}'''


def _class(enum: Enum) -> str:
    name = NAMES.get(enum.name) or "I" + enum.name.removesuffix("_t")[1:]
    words = zip(*(value.name.split("_") for value in enum.values), strict=False)
    prefix = "".join(f"{word[0]}_" for word in takewhile(lambda word: len(set(word)) == 1, words))
    rows = ""
    for value in enum.values:
        short = value.name.removeprefix(prefix)
        if not short.endswith("COUNT"):  # it counts the others
            rows += f"    {short} = {value.value}\n"
    return f'''
class {name}(IntEnum):
    """{enum.doc}"""

{rows}
'''


def _letter(declaration: str) -> str:
    letter = letter_of(declaration)
    if letter != "P":
        return letter
    if declaration == "size_t *size":  # of a workspace
        return "z"
    type_, _, name = declaration.rpartition(" ")
    if name.startswith("*"):
        type_, name = f"{type_} *", name[1:]
    if found := POINTERS.get(type_):
        return found
    if "Descriptor" in type_:
        return "o" if type_.endswith("_t *") else "O"
    return "P"


def _prototypes(first: First) -> str:
    common = {name for name, _ in functions()}
    operators = ""
    for operator in OPERATORS:
        rows = ""
        for name, params in signatures(operator):
            common.discard(name)
            rows += f'        "{name}": "{"".join(map(_letter, params))}",\n'
        operators += f'    "{operator.c_name}": {{\n{rows}    }},\n'
    shared = "".join(
        f'    "{name}": "{"".join(map(_letter, params))}",\n'
        for name, params in functions()
        if name in common
    )
    runtime = "".join(
        f'    "{function.c_name}": "{_runtime_letters(first, function)}",\n'
        for function in first.functions
    )
    return f'''\
"""Prototypes of libinfiniop and libinfinirt. {text.NOTE}

A letter for each parameter: H a handle, T a tensor's descriptor, O an operator's, small ones
pointers to these; z a pointer to a size, P any other pointer; the rest are numbers. All functions
return a status.
"""

from __future__ import annotations

RUNTIME = {{
{runtime}}}

COMMON = {{
{shared}}}

# By the operator's name in C.
OPERATORS = {{
{operators}}}'''


def _runtime_letters(first: First, function: Function) -> str:
    handles = {handle.name for handle in first.handles}
    letters = ""
    for type_ in (param.type for param in function.params):
        if type_.endswith("*") or type_ in handles:
            letters += "P"
        else:
            letters += RUNTIME.get(type_, "i")  # else an enum
    return letters
