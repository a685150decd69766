"""The headers infinicore/ops/<name>.hpp, and infinicore/ops.hpp with all of them."""

from __future__ import annotations

from .. import Api, First
from ..cpp import HEADERS, Function, Header
from . import text

PART = "c"

# Headers that declarations need, by a word in them.
NEEDS = {
    "std::optional": "<optional>",
    "std::string": "<string>",
    "std::tuple": "<tuple>",
    "std::pair": "<utility>",
    "std::vector": "<vector>",
    "infiniccl": '"infiniccl.h"',
    "RoPE::": '"infinicore/nn/rope.hpp"',
}


def files(api: Api, first: First) -> dict[str, str]:
    made = {f"include/infinicore/ops/{header.path}.hpp": _header(header) for header in HEADERS}
    includes = "".join(f'#include "infinicore/ops/{header.path}.hpp"\n' for header in HEADERS)
    made["include/infinicore/ops.hpp"] = f"""\
// The operators on tensors: infinicore::op. {text.NOTE}
#pragma once

{includes}#include "infinicore/ops/run.hpp"
"""
    return made


def _header(header: Header) -> str:
    declared = [_type(each) for each in header.types]
    for owner, members in header.owners.items():
        lines = "".join(_declaration(member, "static ", 4) + "\n" for member in members)
        declared.append(f"struct INFINI_EXPORT {owner} {{\n{lines}}};")
    declared += [_declaration(f, "INFINI_EXPORT ", 0) for f in header.functions if not f.owner]
    body = "\n".join(declared)
    own = {_word(each) for each in header.types}
    others = [
        f'"infinicore/ops/{other.path}.hpp"'
        for other in HEADERS
        for each in other.types
        if _word(each) in body and _word(each) not in own
    ]
    needed = [include for word, include in NEEDS.items() if word in body]
    standard = "".join(f"#include {each}\n" for each in sorted(n for n in needed if n[0] == "<"))
    ours = [n for n in needed if n[0] == '"'] + ['"infinicore/graph.hpp"'] + others
    includes = (standard + "\n" if standard else "") + "".join(
        f"#include {each}\n" for each in sorted(ours)
    )
    return f"""\
// {text.NOTE}
#pragma once

{includes}
namespace {header.namespace} {{

{body}

}}  // namespace {header.namespace}"""


def _word(declared: str) -> str:
    return declared.split("{")[0].split()[-1]


def _type(declared: str) -> str:
    """An enumeration or a structure, one line for each entry."""
    head, _, rest = declared.partition(" { ")
    separator = ";" if head.startswith("struct") else ","
    entries = [entry.strip() for entry in rest.rstrip(" }").split(separator) if entry.strip()]
    lines = "".join(f"    {entry}{separator}\n" for entry in entries)
    return f"{head} {{\n{lines}}};"


def _declaration(function: Function, before: str, indent: int) -> str:
    arguments = [argument.declare(True) for argument in function.arguments]
    return text.call(f"{before}{function.result} {function.name}", arguments, ";", indent)
