"""The entry points of the first generation, on top of the aligned face."""

from __future__ import annotations

from .. import Api, First
from ..load import call_of
from ..model import Function, declare
from . import headers, text

PART = "c"


def files(api: Api, first: First) -> dict[str, str]:
    return {
        "src/first_generation.h": private_header(first),
        "src/first_generation_entries.cc": entries(api, first),
    }


def private_header(first: First) -> str:
    """The types of infinirt.h conflict with those of the aligned face, so here they are in a
    namespace, together with the functions that are written by hand."""
    handles = "".join(f"using {handle.name} = {handle.type};\n" for handle in first.handles)
    types = "\n".join([*map(headers.enum, first.enums), *map(headers.struct, first.structs)])
    by_hand = "\n".join(
        text.call(f"infiniStatus_t {function.name}", [p.c for p in function.params], ";")
        for function in first.functions
        if call_of(function) is None
    )
    return f"""\
// The first generation inside the core: its types, and what of it is written by hand.
// {text.NOTE}
#pragma once

#include "infinicore.h"
#include "infinirt_runtime_api.h"

namespace infini::rt::first {{

{handles}
{types}
// A thread that has not chosen a device yet starts on (CPU, 0) when it enters by this face.
void enter();

// What an error of the aligned face is called here.
infiniStatus_t status_of(infinirtError_t error);

// Written by hand. They begin with enter() themselves.
{by_hand}

}}  // namespace infini::rt::first"""


def entries(api: Api, first: First) -> str:
    undefine = "".join(f"#undef {f.c_name}\n" for f in api.renamed if f.name in first.names)
    cases = "".join(
        text.case(error, status) + "\n" for error, status in first.status_of_error.items()
    )
    declarations = "\n".join(
        _signature("INFINI_EXPORT ", function, ";") for function in first.functions
    )
    handles = {handle.name for handle in first.handles}
    bodies = "\n".join(_entry(function, api, handles) for function in first.functions)
    return f"""\
// Entry points of the first generation.
// {text.NOTE}
#include "first_generation.h"

// In this file the plain names are the first generation's own symbols.
{undefine}
namespace infini::rt::first {{

infiniStatus_t status_of(infinirtError_t error) {{
    switch (error) {{
{cases}    default: return INFINI_STATUS_INTERNAL_ERROR;
    }}
}}

extern "C" {{

{declarations}

{bodies}
}}  // extern "C"

}}  // namespace infini::rt::first"""


def _signature(prefix: str, function: Function, tail: str) -> str:
    head = declare(f"{prefix}{function.returns}", function.c_name)
    return text.call(head, [param.c for param in function.params], tail)


def _entry(function: Function, api: Api, handles: set[str]) -> str:
    call = call_of(function)
    head = _signature("", function, " try {")
    # Host allocations can fail anywhere; no exception may reach a C program.
    end = "} catch (...) {\n    return INFINI_STATUS_INTERNAL_ERROR;\n}\n"
    if call is None:
        arguments = [param.name for param in function.params]
        return f"{head}\n{text.call(f'return {function.name}', arguments, ';', 4)}\n{end}"
    target = api.by_name[call[0]]
    types = {param.name: param.type for param in function.params}
    arguments = [
        _convert(name, types.get(name, param.type), param.type, handles)
        for name, param in zip(call[1], target.params, strict=True)
    ]
    aligned = f"::{target.c_symbol}"
    lines = [head, "    enter();"]
    nulls = [param.name for param in function.params if param.required]
    if nulls:  # what the aligned face calls an invalid value has a status of its own here
        null = " || ".join(f"!{name}" for name in nulls)
        if len(nulls) > 1:
            null = f"({null})"
        lines.append(text.call(f"infinirtError_t error = {aligned}", arguments, ";", 4))
        condition = f"error != infinirtSuccess && {null}"
        lines.append(f"    if ({condition}) return INFINI_STATUS_NULL_POINTER;")
        lines.append("    return status_of(error);")
    else:
        lines.append(text.call(f"return status_of({aligned}", arguments, ");", 4))
    return "\n".join([*lines, end])


def _convert(name: str, type_: str, wanted: str, handles: set[str]) -> str:
    """Handles are `void *` in this face; enums have the same values under other names."""
    is_handle = type_.rstrip(" *") in handles
    if type_ == wanted and not is_handle:
        return name
    cast = "reinterpret_cast" if type_.endswith("*") else "static_cast"
    scope = "::" if is_handle else ""
    return f"{cast}<{scope}{wanted}>({name})"
