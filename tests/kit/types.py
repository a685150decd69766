"""ctypes types for the C types of the spec."""

from __future__ import annotations

import ctypes
import re
from functools import cache
from typing import Any

from spec import api, first
from spec.model import Field, Param

PLAIN = {
    "char": ctypes.c_char,
    "unsigned char": ctypes.c_ubyte,
    "short": ctypes.c_short,
    "unsigned short": ctypes.c_ushort,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "float": ctypes.c_float,
    "size_t": ctypes.c_size_t,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "infiniStatus_t": ctypes.c_int,
}

ENUMS = {enum.name: enum for enum in (*api.enums, *first.core_enums, *first.enums)}
_STRUCTS = {struct.name: struct for struct in (*api.structs, *first.structs)}
_TYPEDEFS = {typedef.name: typedef.type for typedef in (*api.typedefs, *first.handles)}


def resolve(type_: str) -> str:
    """Without `const` and keywords, and with typedefs followed: "int", "struct", "void *"."""
    name = re.sub(r"^(const |enum |struct |union )+", "", type_.strip())
    target = _TYPEDEFS.get(name, name)
    # `typedef enum name name` has its end in itself.
    return name if target.removeprefix("enum ").removeprefix("union ") == name else resolve(target)


@cache
def value_type(type_: str) -> Any:
    """The ctypes type for values of a C type. Every pointer is an address: `c_void_p`."""
    name = resolve(type_)
    if name.endswith("*") or "(*)" in name:
        return ctypes.c_void_p
    if name in ENUMS:
        return ctypes.c_int
    if name in _STRUCTS:
        return struct_type(name)
    return PLAIN[name]


def target_type(type_: str) -> Any:
    """What a pointer points to, or None for `void *`."""
    inner = resolve(type_).removesuffix("*").strip()
    return None if inner in ("void", "const void") else value_type(inner)


@cache
def struct_type(name: str) -> Any:
    struct = _STRUCTS[resolve(name)]
    made = _make(struct.kind, struct.name, struct.fields)
    assert ctypes.sizeof(made) == struct.size, f"{struct.name}: {ctypes.sizeof(made)} bytes"
    return made


def _make(kind: str, name: str, fields: tuple[Field, ...]) -> Any:
    members: list[tuple[str, Any]] = []
    anonymous = []
    for index, field in enumerate(fields):
        member = field.name or f"anonymous_{index}"
        if not field.name:
            anonymous.append(member)
        if field.fields:
            type_ = _make(field.type, f"{name}_{member}", field.fields)
        else:
            type_ = value_type(field.type)
        for length in reversed(field.dims):
            type_ = type_ * length
        members.append((member, type_))
    base = ctypes.Structure if kind == "struct" else ctypes.Union
    return type(name, (base,), {"_anonymous_": anonymous, "_fields_": members})


def is_untyped_output(param: Param) -> bool:
    """`out void *value`: only the caller knows the size of the result."""
    return param.role in ("out", "out?") and target_type(param.type) is None


def constants() -> dict[str, int]:
    """Every enumerator and every macro that stands for a number, without the prefix `infinirt`."""
    values = {}
    for enum in ENUMS.values():
        values.update({value.name.removeprefix("infinirt"): value.value for value in enum.values})
    for macro in api.macros:
        if macro.value is not None:
            values[macro.name.removeprefix("infinirt")] = macro.value
    return values
