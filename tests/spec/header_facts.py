"""Reads a runtime header, NVIDIA's or ours, with libclang; lists its facts by CUDA's names.

The rule that maps our names to CUDA's: `infinirt` is read as `cuda`, and opaque tags, which CUDA
spells `CUstream_st`, are read as `cudaStream_st` on both sides.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import clang.cindex as clang
from clang.cindex import CursorKind as Kind

# What the compiler's own headers would define; they are not part of the wheels.
SHIM = """
#define __device_builtin__
#define __device_builtin_texture_type__
#define __device_builtin_surface_type__
#define __cudart_builtin__
#define __host__
#define __device__
#define __specialization_static static
#define __builtin_align__(n) __attribute__((aligned(n)))
#define __align__(n) __attribute__((aligned(n)))
#define CUDARTAPI
#define CUDARTAPI_CDECL
#define CUDART_CB
"""


@dataclass
class Facts:
    functions: dict[str, tuple[str, list[tuple[str, str]]]] = field(default_factory=dict)
    defaults: dict[str, dict[str, str]] = field(default_factory=dict)  # C++ default arguments
    enums: dict[str, dict[str, int]] = field(default_factory=dict)
    structs: dict[str, Struct] = field(default_factory=dict)
    typedefs: dict[str, str] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=dict)


@dataclass
class Struct:
    kind: str
    size: int
    fields: list[tuple[str, str, int]]  # path, type, offset in bytes


def read(include: Path, header: str, scratch: Path) -> Facts:
    shim = scratch / "shim" / "crt"
    shim.mkdir(parents=True, exist_ok=True)
    (shim / "host_defines.h").write_text(SHIM)
    facts = Facts()
    for declaration in _parse(include, header, shim.parent, "c"):
        _take(declaration, facts)
    for declaration in _parse(include, header, shim.parent, "c++"):
        if declaration.kind == Kind.FUNCTION_DECL and (defaults := _defaults(declaration)):
            facts.defaults[_function_name(declaration)] = defaults
    return facts


def _parse(include: Path, header: str, shim: Path, language: str) -> Iterator[clang.Cursor]:
    command = ["gcc", "-print-file-name=include"]
    builtin = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    source = f"source.{language}"
    unit = clang.Index.create().parse(
        source,
        args=["-x", language, f"-I{include}", f"-I{shim}", f"-I{builtin}"],
        unsaved_files=[(source, f"#include <{header}>\n")],
        options=clang.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD,
    )
    errors = [str(d) for d in unit.diagnostics if d.severity >= clang.Diagnostic.Error]
    assert not errors, errors
    yield from _inside(unit.cursor, str(include))


def _inside(cursor: clang.Cursor, include: str) -> Iterator[clang.Cursor]:
    for child in cursor.get_children():
        if child.kind in (Kind.LINKAGE_SPEC, Kind.UNEXPOSED_DECL):  # extern "C" { ... }
            yield from _inside(child, include)
        elif child.location.file and child.location.file.name.startswith(include):
            yield child


def cuda(text: str) -> str:
    text = re.sub(r"\bCU(\w)(\w*_st)\b", lambda m: f"cuda{m[1].upper()}{m[2]}", text)
    return re.sub(r"\binfinirt(?=[A-Z])", "cuda", text)


def _take(cursor: clang.Cursor, facts: Facts) -> None:
    name = cuda(cursor.spelling)
    if cursor.kind == Kind.FUNCTION_DECL:
        params = [(cuda(a.type.spelling), a.spelling) for a in cursor.get_arguments()]
        facts.functions[_function_name(cursor)] = (cuda(cursor.result_type.spelling), params)
    elif cursor.kind == Kind.ENUM_DECL and cursor.is_definition():
        facts.enums[name] = {cuda(e.spelling): e.enum_value for e in cursor.get_children()}
    elif cursor.kind in (Kind.STRUCT_DECL, Kind.UNION_DECL) and cursor.is_definition():
        kind = "union" if cursor.kind == Kind.UNION_DECL else "struct"
        facts.structs[name] = Struct(kind, cursor.type.get_size(), list(_fields(cursor, "", 0)))
    elif cursor.kind == Kind.TYPEDEF_DECL:
        facts.typedefs[name] = cuda(cursor.underlying_typedef_type.spelling)
    elif cursor.kind == Kind.MACRO_DEFINITION:
        value = "".join(cuda(token.spelling) for token in list(cursor.get_tokens())[1:])
        facts.macros[name] = re.sub(r"^__CUDART_API_PTSZ\((\w+)\)$", r"\1", value)


def _text(cursor: clang.Cursor) -> str:
    """The declaration from its name to the semicolon, as the header writes it."""
    source = Path(cursor.location.file.name).read_bytes()[cursor.location.offset :]
    return source[: source.index(b";")].decode()


def _function_name(cursor: clang.Cursor) -> str:
    """The name as the header writes it, before a macro turns it into a symbol."""
    return cuda(re.match(r"\w+", _text(cursor))[0])


def _defaults(cursor: clang.Cursor) -> dict[str, str]:
    pattern = r"(\w+)\s*(?:(?:__dv|INFINIRT_DEFAULT)\((\w+)\)|=\s*(\w+))"
    return {m[1]: cuda(m[2] or m[3]) for m in re.finditer(pattern, _text(cursor))}


def _fields(record: clang.Cursor, path: str, base: int) -> Iterator[tuple[str, str, int]]:
    for child in record.get_children():
        if child.kind in (Kind.STRUCT_DECL, Kind.UNION_DECL) and child.is_anonymous():
            named = any(
                f.kind == Kind.FIELD_DECL and f.type.get_declaration() == child
                for f in record.get_children()
            )
            if not named:  # its members are members of the outer record
                first = next(f for f in child.get_children() if f.kind == Kind.FIELD_DECL)
                yield from _fields(child, path, base + record.type.get_offset(first.spelling) // 8)
        elif child.kind == Kind.FIELD_DECL:
            offset = base + child.get_field_offsetof() // 8
            inner = child.type.get_declaration()
            if inner.kind in (Kind.STRUCT_DECL, Kind.UNION_DECL) and inner.is_anonymous():
                kind = "union" if inner.kind == Kind.UNION_DECL else "struct"
                yield path + child.spelling, kind, offset
                yield from _fields(inner, f"{path}{child.spelling}.", offset)
            else:
                yield path + child.spelling, cuda(child.type.spelling), offset
