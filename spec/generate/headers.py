"""The public C headers: infinirt_runtime_api.h, infinicore.h, infinirt.h."""

from __future__ import annotations

from .. import Api, First
from ..model import Enum, Field, Struct, Typedef, declare
from . import text

PART = "c"

EXPORT = """\
#ifndef INFINI_EXPORT
#define INFINI_EXPORT __attribute__((visibility("default")))
#endif
"""

OPEN_C = """\
#ifdef __cplusplus
extern "C" {
#endif
"""

CLOSE_C = """\
#ifdef __cplusplus
}
#endif
"""


def files(api: Api, first: First) -> dict[str, str]:
    return {
        "include/infinirt_runtime_api.h": runtime_api(api),
        "include/infinicore.h": infinicore(first),
        "include/infinirt.h": infinirt(first),
    }


# ---- The aligned face --------------------------------------------------------------------------


def runtime_api(api: Api) -> str:
    parts = [
        f"""\
/* InfiniRT, the aligned face: read `infinirt` as `cuda` and this is the runtime API of CUDA 12.9.
 *
 * Which kind of device the calls go to is a property of the thread: see infini/ext.h.
 * {text.NOTE} */
#ifndef INFINIRT_RUNTIME_API_H
#define INFINIRT_RUNTIME_API_H

#ifdef INFINIRT_H
#error "infinirt.h and infinirt_runtime_api.h declare functions of the same names: \\
include one of them in a source file, and put the calls of the other face into another source file"
#endif

#include <stddef.h>
""",
        EXPORT,
        """\
/* The version of CUDA's runtime API that this header follows. */
#define INFINIRT_VERSION 12090
""",
        _heading("Symbols"),
        text.comment(
            "Where infinirt.h or an older form of a function owns the plain symbol, the function"
            " here has a symbol of its own."
        )
        + "\n"
        + "".join(f"#define {f.c_name} {f.c_symbol}\n" for f in api.renamed),
        """\
/* Default arguments, in C++ only. */
#ifdef __cplusplus
#define INFINIRT_DEFAULT(value) = value
#else
#define INFINIRT_DEFAULT(value)
#endif
""",
        OPEN_C,
        _heading("Enums"),
        *(enum(e) for e in api.enums),
        _heading("Handles and other names of types"),
        "".join(_typedef(typedef) for typedef in api.typedefs),
        _heading("Structs"),
        *(DIM3 if s.name == "dim3" else struct(s) for s in api.structs),
        _heading("Flags and special values"),
        "".join(_define(macro.name, macro.text) for macro in api.macros),
    ]
    for group in api.groups:
        parts.append(_heading(group.title))
        for function in group.functions:
            head = declare(f"INFINI_EXPORT {function.returns}", function.c_name)
            params = text.params(function, defaults=" INFINIRT_DEFAULT({})")
            parts.append(text.comment(function.doc) + "\n" + text.call(head, params, ";") + "\n")
    parts += [CLOSE_C + "\n#undef INFINIRT_DEFAULT\n#endif"]
    return "\n".join(parts)


DIM3 = """\
/* Also CUDA's own headers define dim3; the first to come wins. */
#if !defined(__VECTOR_TYPES_H__) && !defined(INFINI_DIM3)
#define INFINI_DIM3
struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1)
        : x(vx), y(vy), z(vz) {}
#endif
};
typedef struct dim3 dim3;
#endif
"""


def _heading(title: str) -> str:
    return f"/* ---- {title} {'-' * (text.WIDTH - 12 - len(title))} */\n"


def _define(name: str, value: str) -> str:
    line = f"#define {name} {value}\n"
    return line if len(line) <= text.WIDTH else f"#define {name} \\\n    {value}\n"


def _typedef(typedef: Typedef) -> str:
    line = f"typedef {typedef.c};\n"
    if len(line) <= text.WIDTH:
        return line
    head, _, arguments = line.rpartition("(")  # only function types are that long
    return f"{head}(\n    {arguments}"


def enum(e: Enum) -> str:
    head = "typedef enum {" if e.typedef_only else f"enum {e.name} {{"
    tail = f"}} {e.name};" if e.typedef_only else "};"
    lines = [text.comment(e.doc)] if e.doc else []
    lines.append(head)
    for value in e.values:
        item = f"    {value.name} = {value.value}" + ("," if value is not e.values[-1] else "")
        note = f" /* {value.doc} */" if value.doc else ""
        if len(item + note) > text.WIDTH:
            lines.append(f"   {note}")
            note = ""
        lines.append(item + note)
    return "\n".join([*lines, tail, ""])


def struct(s: Struct) -> str:
    head = "typedef struct {" if s.name.endswith("_t") else f"{s.kind} {s.name} {{"
    tail = f"}} {s.name};" if s.name.endswith("_t") else "};"
    return "\n".join([head, *_fields(s.fields, 1), tail, ""])


def _fields(fields: tuple[Field, ...], depth: int) -> list[str]:
    margin = "    " * depth
    lines = []
    for field in fields:
        dims = "".join(f"[{n}]" for n in field.dims)
        if field.fields:
            name = f" {field.name}" if field.name else ""
            lines += [f"{margin}{field.type} {{", *_fields(field.fields, depth + 1)]
            lines.append(f"{margin}}}{name};")
        else:
            lines.append(f"{margin}{declare(field.type, field.name)}{dims};")
    return lines


# ---- The first generation ----------------------------------------------------------------------


def infinicore(first: First) -> str:
    sizes = "".join(
        text.case(f"INFINI_DTYPE_{name}", str(size)) + "\n"
        for name, size in first.dtype_bytes.items()
    )
    return "\n".join(
        [
            f"""\
/* Status codes, kinds of device and data types: what all Infini libraries share.
 * {text.NOTE} */
#ifndef INFINICORE_H
#define INFINICORE_H

#include <stddef.h>
#include <stdint.h>
""",
            EXPORT,
            *(enum(e) for e in first.core_enums),
            f"""\
/* Bytes of one element; 0 for a value that is no data type. */
static inline size_t infiniSizeOf(infiniDtype_t dtype) {{
    switch (dtype) {{
{sizes}    default: return 0;
    }}
}}

#endif""",
        ]
    )


def infinirt(first: First) -> str:
    parts = [
        f"""\
/* InfiniRT, the first-generation face. The aligned face is infinirt_runtime_api.h.
 * {text.NOTE} */
#ifndef INFINIRT_H
#define INFINIRT_H

#ifdef INFINIRT_RUNTIME_API_H
#error "infinirt.h and infinirt_runtime_api.h declare functions of the same names: \\
include one of them in a source file, and put the calls of the other face into another source file"
#endif

#include "infinicore.h"
""",
        OPEN_C,
        "".join(f"typedef {handle.c};\n" for handle in first.handles),
        *(enum(e) for e in first.enums),
        *(struct(s) for s in first.structs),
    ]
    for function in first.functions:
        head = declare(f"INFINI_EXPORT {function.returns}", function.c_name)
        parts.append(text.comment(function.doc))
        parts.append(text.call(head, text.params(function), ";") + "\n")
    parts.append(CLOSE_C + "\n#endif")
    return "\n".join(parts)
