"""InfiniCCL: its header, its entry points and the table for ctypes."""

from __future__ import annotations

from .. import Api, First, collectives
from ..model import Function, Param, declare, parse_enums, parse_functions
from . import headers, text

PART = "collectives"
PREFIX = "infiniccl"
ID_BYTES = 128


def files(api: Api, first: First) -> dict[str, str]:
    functions = load()
    return {
        "include/infiniccl.h": header(functions),
        "src/collectives/entries.cc": entries(functions),
        "src/collectives/infiniccl.map": exports(functions),
        "src/cpu/collective_names.h": names(first),
        "python/infinicore/ccl/_prototypes.py": prototypes(functions),
    }


def names(first: First) -> str:
    """Verbs for messages about what ranks do."""

    def switch(function: str, rows: dict[str, str]) -> str:
        cases = "".join(f'        case {name}: return "{word}";\n' for name, word in rows.items())
        return f"""\
inline const char *{function}(int number) {{
    switch (number) {{
{cases}        default: return "of no known kind";
    }}
}}
"""

    ops = [each.name for each in parse_enums(collectives.ENUMS)[0].values]
    op_words = {name: name.removeprefix("INFINICCL_").lower() for name in ops}
    dtypes = {
        each.name: each.name.removeprefix("INFINI_DTYPE_")
        for each in first.enum("infiniDtype_t").values
    }
    return f"""\
// {text.NOTE}
#pragma once

#include "infiniccl.h"

namespace infini::cpu::collectives {{

{switch("dtype_name", dtypes)}
{switch("op_name", op_words)}
}}  // namespace infini::cpu::collectives"""


def load() -> tuple[Function, ...]:
    return parse_functions(collectives.FUNCTIONS, "collectives")


def c_name(function: Function) -> str:
    return PREFIX + function.name


def _head(function: Function, prefix: str = "") -> str:
    return declare(f"{prefix}infiniStatus_t", c_name(function))


def header(functions: tuple[Function, ...]) -> str:
    declarations = "\n".join(
        f"{text.comment(function.doc)}\n"
        + text.call(_head(function, "INFINI_EXPORT "), [p.c for p in function.params], ";")
        + "\n"
        for function in functions
    )
    enums = "\n".join(headers.enum(enum) for enum in parse_enums(collectives.ENUMS))
    return f"""\
/* InfiniCCL: collectives inside a process, between processes, between machines.
 * Counts are numbers of elements. A null stream is the default stream of the communicator's device.
 * {text.NOTE} */
#ifndef INFINICCL_H
#define INFINICCL_H

/* Streams of either face. */
#ifndef INFINIRT_RUNTIME_API_H
#include "infinirt.h"
#endif
#include "infinicore.h"

{headers.OPEN_C}
typedef struct InfinicclComm *infinicclComm_t;

#define INFINICCL_UNIQUE_ID_BYTES {ID_BYTES}
typedef struct {{
    char internal[INFINICCL_UNIQUE_ID_BYTES];
}} infinicclUniqueId_t;

{enums}
{declarations}
{headers.CLOSE_C}
#endif"""


def entries(functions: tuple[Function, ...]) -> str:
    by_hand = "\n".join(
        text.call(
            f"infiniStatus_t {function.name}",
            ["const char *function", *(p.c for p in function.params)],
            ";",
        )
        for function in functions
        if "kind" not in function.tags
    )
    bodies = "\n".join(map(_entry, functions))
    return f"""\
// Entry points of InfiniCCL.
// {text.NOTE}
#include <infini/collectives.h>

#include "launch.h"

// After that: it takes the streams of the face that is there.
#include "infiniccl.h"

namespace infini::ccl {{

// Written by hand, in api.cc.
infiniStatus_t collective(const char *function, const InfiniCollective &work, infinicclComm_t comm,
                          void *stream, const int *nranks);
infiniStatus_t failed(const char *function);
infiniStatus_t missing(const char *function, const char *argument);
{by_hand}

}}  // namespace infini::ccl

extern "C" {{

{bodies}
}}  // extern "C\""""


def _entry(function: Function) -> str:
    lines = [text.call(_head(function), [p.c for p in function.params], " try {")]
    name = f'"{c_name(function)}"'
    if kind := function.tags.get("kind"):
        lines += _collective(function, kind, name)
    else:
        arguments = [name, *(p.name for p in function.params)]
        lines.append(text.call(f"return infini::ccl::{function.name}", arguments, ";", 4))
    # Host allocations can fail anywhere; no exception may reach a C program.
    lines += ["} catch (...) {", f"    return infini::ccl::failed({name});", "}", ""]
    return "\n".join(lines)


def _collective(function: Function, kind: str, name: str) -> list[str]:
    lines = []
    for param in function.params:
        if param.role == "list":  # lists of counts
            lines.append(
                f'    if (!{param.name}) return infini::ccl::missing({name}, "{param.name}");'
            )
    lines += ["    InfiniCollective work{};", f"    work.kind = INFINI_{kind};"]
    if not _has(function, "root") and not _has(function, "peer"):
        lines.append("    work.root = -1;")
    for param in function.params:
        if field := collectives.FIELDS.get(param.name):
            lines.append(f"    work.{field} = {param.name};")
    ranks = "&nranks" if _has(function, "nranks") else "nullptr"
    lines.append(f"    return infini::ccl::collective({name}, work, comm, stream, {ranks});")
    return lines


def _has(function: Function, name: str) -> bool:
    return any(param.name == name for param in function.params)


def exports(functions: tuple[Function, ...]) -> str:
    names = "\n".join(f"    {c_name(function)};" for function in functions)
    return f"{{\nglobal:\n{names}\nlocal:\n    *;\n}};"


def _ctype(param: Param) -> str:
    plain = {
        "infinicclComm_t": "c_void_p",
        "infinirtStream_t": "c_void_p",
        "infinicclUniqueId_t": "UniqueId",
        "int": "c_int",
        "double": "c_double",
        "size_t": "c_size_t",
        "infiniDtype_t": "c_int",
        "infiniDevice_t": "c_int",
        "infinicclReduceOp_t": "c_int",
    }
    if param.type in plain:
        return plain[param.type]
    target = param.type.removeprefix("const ").removesuffix("*").strip()
    if target == "void":
        return "c_void_p"
    if target == "char":
        return "c_char_p"
    inner = {"infiniStatus_t": "c_int", **plain}[target]
    return f"POINTER({inner})"


def prototypes(functions: tuple[Function, ...]) -> str:
    rows = "\n".join(
        f'    "{c_name(function)}": ({", ".join(map(_ctype, function.params))},),'
        for function in functions
    )
    return f'''\
"""Types of the functions of libinfiniccl. {text.NOTE}"""

from ctypes import POINTER, Structure, c_char, c_char_p, c_double, c_int, c_size_t, c_void_p


class UniqueId(Structure):
    _fields_ = [("internal", c_char * {ID_BYTES})]


PROTOTYPES = {{
{rows}
}}'''
