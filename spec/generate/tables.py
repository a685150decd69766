"""Tables for the core: the functions' numbers and names, texts of errors, names of device types,
the declarations that the core's software implements, and the list of exported symbols."""

from __future__ import annotations

import re
from pathlib import Path

from .. import Api, First
from ..model import PREFIX, Function
from . import text

PART = "c"

ROOT = Path(__file__).resolve().parents[2]
BASE = ROOT / "csrc" / "base"
EXTENSIONS = (
    ROOT / "include" / "infini" / "ext.h",
    BASE / "keep.h",
    BASE / "last_error.h",
    BASE / "memory_error.h",
    BASE / "launch.h",
    BASE / "runtime_services.h",
)


def files(api: Api, first: First) -> dict[str, str]:
    return {
        "src/functions.h": functions(api),
        "src/impl.h": impl(api),
        "src/error_text.cc": error_text(api),
        "src/device_names.cc": device_names(first),
        "src/infinirt.map": version_script(api, first),
    }


def functions(api: Api) -> str:
    numbers = "".join(f"    {f.name} = {i},\n" for i, f in enumerate(api.entries))
    names = "".join(f'    "{f.c_name}",\n' for f in api.entries)
    return f"""\
// The functions of the aligned face, numbered and named.
// {text.NOTE}
#pragma once

#include <cstddef>

namespace infini::rt {{

enum class Function : unsigned short {{
{numbers}}};

inline constexpr size_t kFunctionCount = {len(api.entries)};

inline constexpr const char *kFunctionNames[kFunctionCount] = {{
{names}}};

// "infinirtMemcpy"
inline const char *function_name(Function function) {{
    return kFunctionNames[static_cast<size_t>(function)];
}}

// "Memcpy": the name by which a back end is asked for its own implementation.
inline const char *function_word(Function function) {{
    return function_name(function) + {len(PREFIX)};
}}

}}  // namespace infini::rt"""


def needs_impl(function: Function) -> bool:
    return function.served and not function.same_as and function.returns == "infinirtError_t"


def impl(api: Api) -> str:
    parts = []
    for group in api.groups:
        served = [function for function in group.functions if needs_impl(function)]
        if served:
            parts.append(f"// {group.title}")
            parts += [
                text.call(f"infinirtError_t {function.name}", impl_params(function), ";")
                for function in served
            ]
            parts.append("")
    body = "\n".join(parts)
    return f"""\
// What the core's software implements: one function behind each entry point, its handles looked up.
// {text.NOTE}
#pragma once

#include "infinirt_runtime_api.h"

namespace infini::rt {{

class Call;
struct Event;
struct Exec;
struct Graph;
struct Node;
struct Pool;
struct Stream;
struct UserObject;

namespace impl {{

{body}
}}  // namespace impl
}}  // namespace infini::rt"""


def impl_params(function: Function) -> list[str]:
    params = ["Call &call"]
    for param in function.params:
        params.append(f"{param.handle[0]} &{param.name}" if param.handle else param.c)
    return params


def error_text(api: Api) -> str:
    seen: set[int] = set()
    names = texts = ""
    for value in api.errors.values:
        if value.value in seen:
            continue
        seen.add(value.value)
        names += text.case(value.name, f'"{value.name}"') + "\n"
        texts += text.case(value.name, f'"{value.doc}"') + "\n"
    return f"""\
// Names and texts of the error codes.
// {text.NOTE}
#include "call.h"

namespace infini::rt {{

const char *error_name(infinirtError_t error) {{
    switch (error) {{
{names}    }}
    return "unrecognized error code";
}}

const char *error_string(infinirtError_t error) {{
    switch (error) {{
{texts}    }}
    return "unrecognized error code";
}}

}}  // namespace infini::rt"""


def device_names(first: First) -> str:
    kinds = "".join(f'    "{word}",\n' for word in first.device_kinds)
    return f"""\
// Words for the kinds of device that infiniDevice_t numbers.
// {text.NOTE}
#include "device_names.h"

#include <cstring>

#include "infinicore.h"

namespace infini::rt {{

namespace {{
constexpr const char *kKinds[INFINI_DEVICE_TYPE_COUNT] = {{
{kinds}}};
}}  // namespace

// Null for a number that infiniDevice_t does not have.
const char *device_kind_name(int kind) {{
    return kind >= 0 && kind < INFINI_DEVICE_TYPE_COUNT ? kKinds[kind] : nullptr;
}}

// -1 for a word that infiniDevice_t does not have.
int device_kind_value(const char *name) {{
    for (int kind = 0; kind < INFINI_DEVICE_TYPE_COUNT; ++kind)
        if (std::strcmp(kKinds[kind], name) == 0) return kind;
    return -1;
}}

}}  // namespace infini::rt"""


def exported_symbols(api: Api, first: First) -> list[str]:
    declared = "".join(path.read_text(encoding="utf-8") for path in EXTENSIONS)
    extensions = re.sub(r"/\*.*?\*/", "", declared, flags=re.S)
    symbols = {function.c_symbol for function in api.entries}
    symbols |= {function.c_symbol for function in first.functions}
    symbols |= set(re.findall(r"\b(infini\w+)\(", extensions))
    return sorted(symbols)


def version_script(api: Api, first: First) -> str:
    symbols = "".join(f"        {symbol};\n" for symbol in exported_symbols(api, first))
    return f"""\
/* What libinfinirt exports: the entry points of both faces, of infini/ext.h, and
 * what the other libraries of the core use.
 * {text.NOTE} */
{{
    global:
{symbols}    local:
        *;
}};"""
