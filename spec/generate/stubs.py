"""Generated Python: the stub of the extension module, and the enums and flags.

`infinicore/_rt.pyi` tells type checkers and editors what the bindings offer; its last part, for
what is bound by hand, is `csrc/python/runtime/_rt.pyi`. `infinicore/_rt_enums.py` holds the enums
and constants under their C names without the prefix.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from .. import Api, First
from ..model import PREFIX, Field, SpecError
from . import text
from .bindings import visible
from .python_face import Types, faces

PART = "python"

HAND_WRITTEN = Path(__file__).resolve().parents[2] / "csrc" / "python" / "runtime" / "_rt.pyi"


def files(api: Api, first: First) -> dict[str, str]:
    types = Types(api)
    return {
        "python/infinicore/_rt.pyi": stub(api, types),
        "python/infinicore/_rt_enums.py": enums(api, first, types),
        "python/infinicore/_rt_enums.pyi": enums_stub(api, types),
    }


# ---- The stub ------------------------------------------------------------------------------------


def stub(api: Api, types: Types) -> str:
    functions = [face for group in faces(api).values() for face in group]
    used = "".join(f"    {name},\n" for name in sorted(types.python(enum) for enum in api.enums))
    parts = [
        f'''\
"""The C API by its names without the prefix.

{text.NOTE}
"""

import builtins
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from typing_extensions import Buffer, Self

from infinicore._rt_enums import (
{used})

class _HasPtr(Protocol):
    @property
    def ptr(self) -> int: ...

class _HasHandle(Protocol):
    @property
    def handle(self) -> int: ...

_Address: TypeAlias = int | _HasPtr | Buffer | None
_Handle: TypeAlias = int | _HasHandle | None
''',
        HAND_WRITTEN.read_text(encoding="utf-8"),
    ]
    names: list[str] = []
    for struct in api.structs:
        parts += struct_stub(types.python(struct), struct.fields, types, names)
    for face in functions:
        doc = textwrap.fill(
            f'"""{face.doc}"""', 96, initial_indent="    ", subsequent_indent="    "
        )
        parts.append(f"{face.signature}:\n{doc}\n")
        names.append(face.name)
    parts.append(all_names(names))
    return "\n".join(parts)


def all_names(names: list[str]) -> str:
    return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"


def struct_stub(name: str, fields: tuple[Field, ...], types: Types, names: list[str]) -> list[str]:
    """A class, and before it classes for members whose type has no name; `names` is added to."""
    inner: list[str] = []
    attributes: list[tuple[str, str]] = []
    for field in visible(fields):
        if field.fields:
            annotation = f"{name}_{field.name}"
            inner += struct_stub(annotation, field.fields, types, names)
        else:
            annotation = field_annotation(field, types)
        attributes.append((field.name, annotation))
    names.append(name)
    given = "".join(f", {field}: {given_as(kind)} = ..." for field, kind in attributes)
    lines = [f"class {name}:", f"    def __init__(self, *{given}) -> None: ..."]
    lines += [f"    {field}: {annotation}" for field, annotation in attributes]
    # Spelled out: a struct may have a field of the name `bytes`.
    lines.append("    def __bytes__(self) -> builtins.bytes: ...")
    lines.append("    @staticmethod")
    lines.append(f"    def from_bytes(data: builtins.bytes) -> {name}: ...")
    return [*inner, "\n".join(lines), ""]


def given_as(annotation: str) -> str:
    """The type of a keyword: integer fields also accept objects with an address or number."""
    return "Any" if annotation == "int" else annotation


def field_annotation(field: Field, types: Types) -> str:
    if field.dims and types.resolve(field.type) in ("char", "unsigned char"):
        return "str" if field.dims[0] >= 128 else "builtins.bytes"
    kind = types.annotation(field.type)
    return f"tuple[{kind}, ...]" if field.dims else kind


# ---- Enums and constants ------------------------------------------------------------------------


def plain(name: str) -> str:
    return name.removeprefix(PREFIX)


def constants(api: Api) -> dict[str, int]:
    """Macros that stand for a number."""
    return {plain(m.name): m.value for m in api.macros if m.value is not None}


def aliases(api: Api) -> dict[str, str]:
    """Macros that stand for an enumerator."""
    enumerators = {value.name for enum in api.enums for value in enum.values}
    return {plain(m.name): plain(m.text) for m in api.macros if m.text in enumerators}


def check_names(api: Api, types: Types) -> None:
    """All names are in one Python module, so they must be unique."""
    names = [types.python(enum) for enum in api.enums]
    names += [types.python(struct) for struct in api.structs]
    names += [plain(value.name) for enum in api.enums for value in enum.values]
    names += [*constants(api), *aliases(api), *(function.name for function in api.functions)]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SpecError(f"Python names used twice: {sorted(twice)}")


def enums(api: Api, first: First, types: Types) -> str:
    check_names(api, types)
    rows = []
    for enum in api.enums:
        rows.append(f'    "{types.python(enum)}": {{')
        rows += [f'        "{plain(value.name)}": {value.value},' for value in enum.values]
        rows.append("    },")
    classes = "\n".join(rows)
    numbers = "".join(f'    "{name}": {value},\n' for name, value in constants(api).items())
    others = "".join(f'    "{name}": "{target}",\n' for name, target in aliases(api).items())
    kinds = "".join(f'    "{word}": {number},\n' for word, number in first.device_kinds.items())
    return f'''\
"""Enums and constants of the API under their C names without the prefix.

An enum is made when it, or one of its members, is first asked for: making them all would take
longer than importing everything else.

{text.NOTE}
"""

from enum import IntEnum

# Words for the kinds of device that infiniDevice_t numbers.
DEVICE_KINDS = {{
{kinds}}}

_ENUMS = {{
{classes}
}}

_CONSTANTS = {{
{numbers}}}

_ALIASES = {{
{others}}}

_ENUM_OF = {{member: name for name, members in _ENUMS.items() for member in members}}

__all__ = [*_ENUMS, *_ENUM_OF, *_CONSTANTS, *_ALIASES]


def __getattr__(name):
    if name in _ENUMS:
        value = IntEnum(name, _ENUMS[name], module=__name__)
    elif name in _ENUM_OF:
        value = getattr(__getattr__(_ENUM_OF[name]), name)
    elif name in _CONSTANTS:
        value = _CONSTANTS[name]
    elif name in _ALIASES:
        value = __getattr__(_ALIASES[name])
    else:
        raise AttributeError(f"module {{__name__!r}} has no attribute {{name!r}}")
    return globals().setdefault(name, value)


def __dir__():
    return [*globals(), *__all__]'''


def enums_stub(api: Api, types: Types) -> str:
    lines = [
        "from enum import IntEnum",
        "from typing import Final",
        "",
        "DEVICE_KINDS: dict[str, int]",
    ]
    names = []
    for enum in api.enums:
        names.append(types.python(enum))
        lines += ["", f"class {types.python(enum)}(IntEnum):"]
        if enum.doc:
            lines.append(f'    """{enum.doc}"""')
        for value in enum.values:
            lines.append(
                f"    {plain(value.name)} = {value.value}" + f"  # {value.doc}" * bool(value.doc)
            )
    lines.append("")
    for enum in api.enums:
        for value in enum.values:
            names.append(plain(value.name))
            member = f"{types.python(enum)}.{plain(value.name)}"
            lines.append(f"{plain(value.name)}: Final = {member}")
    for name, number in constants(api).items():
        lines.append(f"{name}: Final = {number}")
    for name, target in aliases(api).items():
        lines.append(f"{name}: Final = {target}")
    names += [*constants(api), *aliases(api)]
    return (
        f'"""Enums and constants. {text.NOTE}"""\n\n' + "\n".join(lines) + "\n\n" + all_names(names)
    )
