"""The Python bindings: C++ for nanobind, one file per group of functions and one for the structs.

How Python calls a function is derived in `python_face.py`; how values are converted is in
`csrc/python/runtime/convert.h`. This file has what a call does around the C function: releasing the
interpreter's lock, raising, and releasing what Python objects held.
"""

from __future__ import annotations

import re

from .. import Api, First
from ..model import Field, Group, Param
from . import text
from .python_face import BY_HAND, CODES, QUERIES, Face, Types, faces, python_name

PART = "python"

# These may wait, or run host functions that need the interpreter's lock, so they run without it.
# Besides them: all that synchronize, and all copies and fills that are not asynchronous.
WAITS = {
    *("DeviceReset", "ThreadExit", "Free", "FreeHost", "HostRegister", "HostUnregister"),
    *("Malloc", "MallocHost", "MallocManaged", "MallocPitch", "Malloc3D", "HostAlloc"),
    *("IpcOpenMemHandle", "IpcCloseMemHandle", "MemPoolTrimTo", "MemPoolDestroy"),
    *("GraphLaunch", "GraphUpload", "GraphExecDestroy", "DeviceGraphMemTrim"),
    *("LibraryLoadData", "LibraryLoadFromFile"),
}
# These may run in the calling thread: large enough work runs without the lock.
SIZED = {
    "MemcpyAsync": "count",
    "MemcpyPeerAsync": "count",
    "MemsetAsync": "count",
    "Memcpy2DAsync": "width.value * height",
    "Memset2DAsync": "width.value * height",
}

BEFORE = {
    "GraphDestroy": "forget_graph(graph);",
    "GraphDestroyNode": "forget_node(node);",
    "StreamDestroy": "forget_stream(stream);",
    "StreamSynchronize": "const bool well = wait_unless_interrupted(stream);",
    "EventSynchronize": "const bool well = wait_for_event_unless_interrupted(event);",
    "DeviceSynchronize": "const bool well = wait_unless_interrupted(nullptr);",
    "ThreadSynchronize": "const bool well = wait_unless_interrupted(nullptr);",
}
AFTER = {
    "StreamCreate": "note_stream(pStream);",
    "StreamCreateWithFlags": "note_stream(pStream);",
    "StreamCreateWithPriority": "note_stream(pStream);",
    "StreamBeginCapture": "note_capture(stream);",
    "StreamBeginCaptureToGraph": "note_capture(stream);",
    "StreamEndCapture": "settle();",
    "GraphDestroy": "settle();",
    "GraphExecDestroy": "settle();",
    "UserObjectRelease": "settle();",
    "GraphReleaseUserObject": "settle();",
    "StreamSynchronize": "settle();",
    "EventSynchronize": "settle();",
    "DeviceSynchronize": "settle();",
}
# The code around the call, which replaces {}.
AROUND = {
    "GraphInstantiate": "with_keeper(graph, &pGraphExec, [&] {{ return {}; }})",
    "GraphInstantiateWithFlags": "with_keeper(graph, &pGraphExec, [&] {{ return {}; }})",
    "GraphInstantiateWithParams": "with_keeper(graph, &pGraphExec, [&] {{ return {}; }})",
    "StreamSynchronize": "if_well(well, waiting([&] {{ return {}; }}))",
    "EventSynchronize": "if_well(well, waiting([&] {{ return {}; }}))",
    "DeviceSynchronize": "if_well(well, waiting([&] {{ return {}; }}))",
    "ThreadSynchronize": "if_well(well, waiting([&] {{ return {}; }}))",
    "GraphExecUpdate": "unless_differing("
    "with_keeper(hGraph, &hGraphExec.value, [&] {{ return {}; }}))",
}


def files(api: Api, first: First) -> dict[str, str]:
    groups = faces(api)
    types = Types(api)
    out = {
        f"src/python/bindings_{group.name}.cc": group_bindings(group, groups[group.name])
        for group in api.groups
    }
    out["src/python/bindings.h"] = header(api)
    out["src/python/enum_names.h"] = enum_names(api, types)
    out["src/python/bindings_structs.cc"] = structs(api, types)
    return out


def enum_names(api: Api, types: Types) -> str:
    names = "\n".join(
        f"""template <>
struct EnumName<{enum.name}> {{
    static constexpr const char *value = "{types.python(enum)}";
}};"""
        for enum in api.enums
    )
    return f"""\
// The Python enums behind the C ones.
// {text.NOTE}
#pragma once

#include "infinirt_runtime_api.h"

namespace infini::python {{

template <class T>
struct EnumName;

{names}

}}  // namespace infini::python"""


def header(api: Api) -> str:
    binders = "".join(f"void bind_{group.name}(nb::module_ &m);\n" for group in api.groups)
    calls = "".join(f"    bind_{group.name}(m);\n" for group in api.groups)
    return f"""\
// What the generated bindings share.
// {text.NOTE}
#pragma once

#include <nanobind/stl/optional.h>

#include <algorithm>

#include "call.h"
#include "callbacks.h"
#include "interruptible.h"
#include "deferred_release.h"

namespace infini::python {{

void bind_structs(nb::module_ &m);
{binders}
inline void bind_generated(nb::module_ &m) {{
    bind_structs(m);
{calls}}}

}}  // namespace infini::python"""


# ---- Functions -----------------------------------------------------------------------------------


def group_bindings(group: Group, members: list[Face]) -> str:
    definitions = "\n".join(definition(face) for face in members)
    return f"""\
// Python bindings: {group.title.lower()}.
// {text.NOTE}
#include "bindings.h"

namespace infini::python {{

using namespace nb::literals;

void bind_{group.name}(nb::module_ &m) {{
{definitions}
}}

}}  // namespace infini::python"""


def quoted(words: str) -> str:
    return '"' + words.replace("\\", "\\\\").replace('"', '\\"') + '"'


def definition(face: Face) -> str:
    arguments = []
    for argument in face.arguments:
        item = f'"{argument.name}"_a' + (".none()" * argument.none)
        if argument.python_default:
            value = argument.python_default
            item += f" = {'nb::none()' if value == 'None' else value}"
        arguments.append(item)
    tail = [*arguments, f"nb::sig({quoted(face.signature)})", quoted(face.doc)]
    if face.name in BY_HAND:
        code = f"by_hand::{face.name}"
    else:
        params = ", ".join(
            f"{argument.cpp}{argument.name.removesuffix('_')}" for argument in face.arguments
        )
        body = "\n".join(f"            {line}" for line in function_body(face))
        code = f"[]({params}) {{\n{body}\n        }}"
    joined = ",\n        ".join([code, *tail])
    return f'    m.def(\n        "{face.name}",\n        {joined});'


def function_body(face: Face) -> list[str]:
    function = face.function
    if function.returns == "const char *" or face.name in CODES:
        return [f"return give({c_call(face, {})});"]
    lines = declarations(face)
    if face.name in BEFORE:
        lines.append(BEFORE[face.name])
    elif is_waiting_copy(face):
        # Ordered after the work of the null stream.
        lines.append("const bool well = wait_unless_interrupted(nullptr);")
    call = around(face, c_call(face, {}))
    if face.name in QUERIES:
        return [*lines, f"return ready({call});"]
    lines += fills(face) if any(p.role == "fill" for p in face.results) else [f"check({call});"]
    if face.name in AFTER:
        lines.append(AFTER[face.name])
    results = [give(face, param) for param in face.results]
    if len(results) > 1:
        lines.append(f"return nb::make_tuple({', '.join(results)});")
    elif results:
        lines.append(f"return {results[0]};")
    return lines


def is_waiting(face: Face, prefix: str | tuple[str, ...]) -> bool:
    groups = ("copy", "peer", "array", "symbol")
    is_one = face.function.group in groups and face.name.startswith(prefix)
    return is_one and not face.name.endswith("Async")


def is_waiting_copy(face: Face) -> bool:
    return is_waiting(face, "Memcpy")


def may_wait(face: Face) -> bool:
    copies = is_waiting(face, ("Memcpy", "Memset"))
    return copies or "Synchronize" in face.name or face.name in WAITS


def around(face: Face, call: str) -> str:
    if face.name in AROUND:
        return AROUND[face.name].format(call)
    if is_waiting_copy(face):
        return f"if_well(well, waiting([&] {{ return {call}; }}))"
    if may_wait(face):
        return f"waiting([&] {{ return {call}; }})"
    if size := SIZED.get(face.name):
        return f"waiting_if({size} >= kLargeBytes, [&] {{ return {call}; }})"
    return call


def declarations(face: Face) -> list[str]:
    """Local variables for the results, and the lengths of lists."""
    lines = []
    types = face.types
    for param in face.function.params:
        if param.role in ("list", "list?"):
            lines += length(face, param)
        elif param.role == "text":
            lines.append(f"char {param.name}[256] = {{}};")
        elif param.role == "in" and param.type == "void *":
            lines.append(f"uint64_t {param.name}_value = {param.name};")
        elif param.role == "inout" and param in face.results:
            lines.append(f"auto {param.name}_value = {param.name}.value;")
        elif face.name == "MemRangeGetAttribute" and param.name == "data":
            lines.append("std::vector<int32_t> data(dataSize / sizeof(int32_t));")
        elif param.type == "void *" and param.role == "out":
            lines.append(f"uint64_t {param.name} = 0;")
        elif param.role in ("out", "out?"):
            pointee = face.pointee(param)
            kind = pointee if pointee.endswith("*") else types.resolve(pointee)
            lines.append(f"{kind} {param.name}{{}};")
    return lines


def length(face: Face, param: Param) -> list[str]:
    """The variable that counts a list; lists with one count must agree."""
    name, count = param.name, param.count
    lists = [p for p in face.function.params if p.count == count]
    if param is lists[0]:
        return [f"size_t {count} = {name}.items.size();"]
    first = python_name(lists[0].name)
    check = f'common_length("{first}", {count}, "{python_name(name)}", '
    if param.role == "list?":
        return [f"if ({name}) {check}{name}->items.size());"]
    return [f"{check}{name}.items.size());"]


def fills(face: Face) -> list[str]:
    arrays = [param for param in face.results if param.role == "fill"]
    count = arrays[0].count
    counted = next(param for param in face.function.params if param.name == count)
    lines = []
    if counted.is_pointer:
        empty = {param.name: "nullptr" for param in arrays}
        lines += [f"size_t {count} = 0;", f"check({c_call(face, {**empty, count: f'&{count}'})});"]
        lines.append(f"size_t {count}_room = {count};")
    for param in arrays:
        lines.append(f"std::vector<{face.pointee(param)}> {param.name}({count});")
    full = {param.name: f"{param.name}.data()" for param in arrays}
    if not counted.is_pointer:
        return [*lines, f"check({c_call(face, full)});"]
    # Another thread may have added items since the first call: no more are taken than fit.
    call = c_call(face, {**full, count: f"&{count}"})
    return [*lines, f"if ({count}) check({call});", f"{count} = std::min({count}, {count}_room);"]


def give(face: Face, param: Param) -> str:
    name = param.name
    if param.role == "text":
        return f"nb::str({name})"
    if param.role == "fill":
        return f"give_list({name}.data(), {param.count})"
    if face.is_borrowed(param):
        count = next(p for p in face.function.params if p.name in face.counts)
        return f"give_list({name}, {count.name})"
    if param.role == "inout":
        return f"give({name}_value)"
    if face.name == "MemRangeGetAttribute":
        return "give_list(data.data(), data.size())"
    return f"give({name})"


def c_call(face: Face, replaced: dict[str, str]) -> str:
    passed = [replaced.get(param.name) or pass_(face, param) for param in face.function.params]
    return f"{face.function.c_name}({', '.join(passed)})"


def pass_(face: Face, param: Param) -> str:
    """A parameter of the C call, from the variables of the binding."""
    name, role = param.name, param.role
    if role == "list":
        return f"{name}.items.data()"
    if role == "list?":
        return f"{name} ? {name}->items.data() : nullptr"
    if role == "text":
        return name
    if name in face.counts and not param.is_pointer:
        if any(p.role == "text" and p.count == name for p in face.function.params):
            return f"sizeof {next(p.name for p in face.function.params if p.count == name)}"
        return name if param.type == "size_t" else f"static_cast<{param.type}>({name})"
    if param.type == "void *" and role in ("in", "inout"):
        return f"&{name}_value"
    if face.name == "MemRangeGetAttribute" and name == "data":
        return "data.data()"
    if role == "inout" and param in face.results:
        return f"&{name}_value"
    if role == "ptr" or param.type == "const void *":
        return name
    if param.type == "void **" and role.startswith("in"):
        return f"{name}.as<void **>()"
    if param.type == "const char *":
        return name
    if param.is_pointer:
        return f"&{name}"
    if face.types.is_function(param.type):
        return f"reinterpret_cast<{param.type}>({name}.value)"
    return name


# ---- Structs -------------------------------------------------------------------------------------


def structs(api: Api, types: Types) -> str:
    body = "\n".join(struct_class(s.name, types.python(s), s.fields) for s in api.structs)
    return f"""\
// Python classes for the structs.
// {text.NOTE}
#include "structs.h"

#include "bindings.h"

namespace infini::python {{

void bind_structs(nb::module_ &m) {{
{body}
}}

}}  // namespace infini::python"""


def visible(fields: tuple[Field, ...]) -> list[Field]:
    """The members visible in Python: those of anonymous unions are included, reserved ones and
    padding are not."""
    found: list[Field] = []
    for field in fields:
        if field.fields and not field.name:
            found += visible(field.fields)
        elif not re.fullmatch(r"reserved\d*|pad", field.name):
            found.append(field)
    # Opaque handles have no other members; they are passed as bytes.
    return found or [field for field in fields if field.dims]


def struct_class(c_type: str, name: str, fields: tuple[Field, ...]) -> str:
    """A class; before it, classes for members whose type has no name."""
    lines: list[str] = []
    seen = visible(fields)
    for field in seen:
        if field.fields:
            inner = f"decltype({c_type}::{field.name})"
            lines.append(struct_class(inner, f"{name}_{field.name}", field.fields))
    names = ", ".join(f'"{field.name}"' for field in seen)
    lines.append("    {")
    lines.append(f"        using S = {c_type};")
    lines.append(f'        auto cls = struct_class<S>(m, "{name}", {{{names}}});')
    for field in seen:
        member, offset = f"S::{field.name}", f"offsetof(S, {field.name})"
        lines.append(f'        field<decltype({member})>(cls, "{field.name}", {offset});')
    lines.append("    }")
    return "\n".join(lines)
