"""How the back end for CUDA-like devices implements the aligned face: by the vendor's function of
the same name. The declarations are those of toolkit 12.9; where 13 differs, an adapter is derived
from the names of parameters and members."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from .. import Api, First, cuda13_differences, model
from ..model import PREFIX, Field, Function, Struct, declare
from . import text

PART = "c"


@dataclass(frozen=True)
class Param13:
    type: str
    name: str

    @property
    def bare(self) -> str:
        """The type without parts that do not affect a call."""
        return re.sub(r"\bconst\b|\bstruct\b|\benum\b|\s", "", self.type)


@dataclass(frozen=True)
class Forward:
    """One function: the symbols that it has in a library of 12 and of 13, and its form in 13."""

    function: Function
    symbol12: str
    symbol13: str  # empty: 13 has no equivalent
    params13: tuple[Param13, ...]

    @property
    def params12(self) -> tuple[Param13, ...]:
        return tuple(Param13(param.type, param.name) for param in self.function.params)

    @property
    def reordered(self) -> bool:
        """Whether the arguments of 12.9 differ from those of 13. Two of one type that only swapped
        names keep their positions, because the library still treats them the same."""
        return [p.bare for p in self.params12] != [p.bare for p in self.params13]


@dataclass(frozen=True)
class Changed:
    """A struct whose layout changed in 13."""

    struct: Struct
    gone: tuple[Field, ...]
    added: tuple[Field, ...]

    @property
    def word(self) -> str:
        return self.struct.name.removeprefix(PREFIX)

    @cached_property
    def kept(self) -> tuple[Field, ...]:
        return tuple(field for field in self.struct.fields if field not in self.gone)


def files(api: Api, first: First) -> dict[str, str]:
    return {"src/cuda/forward.cc": source(api)}


def forwards(api: Api) -> list[Forward]:
    gone, forms = _differences()
    renamed = {name[2:] for name, _ in model.blocks_of(cuda13_differences.NAMES)}
    found = []
    for function in api.entries:
        if function.anywhere or function.of_the_core:
            continue
        name12 = name13 = function.tags.get("symbol") or function.name
        if f"{PREFIX}{function.name}" in renamed:
            name13 = function.name
        params = tuple(Param13(param.type, param.name) for param in function.params)
        if function.name in gone:
            plain = re.sub(r"_v\d+$", "", function.name)
            name13 = cuda13_differences.INSTEAD.get(function.name, "")
            if plain != function.name and plain in api.by_name:
                name13, params = plain, forms.get(plain, params)
        else:
            params = forms.get(function.name, params)
        found.append(Forward(function, name12, name13, params))
    return found


def _differences() -> tuple[set[str], dict[str, tuple[Param13, ...]]]:
    """(functions missing in 13, the new forms of changed ones)."""
    gone, forms = set(), {}
    for head, _ in model.blocks_of(cuda13_differences.FUNCTIONS):
        if head[0] == "-":
            gone.add(head[2:])
        elif head[0] == "~":
            name, params = head[2:].rstrip(")").split("(", 1)
            forms[name] = tuple(_param(param) for param in params.split(", "))
    return gone, forms


def _param(declaration: str) -> Param13:
    match = re.fullmatch(r"(.*?[\s*])(\w+)", declaration)
    assert match, declaration
    return Param13(match[1].strip(), match[2])


def changed_structs(api: Api) -> dict[str, Changed]:
    """Structs whose size changed in 13, by the name that parameters use."""
    structs = {struct.name: struct for struct in api.structs}
    found = {}
    for head, lines in model.blocks_of(cuda13_differences.STRUCTS):
        match = re.fullmatch(r"(\w+): (\d+) -> (\d+) bytes", head)
        if not match or match[2] == match[3]:
            continue
        signed: dict[str, list[str]] = {"+": [], "-": []}
        for line in lines:
            signed[line.strip()[0]].append(line.strip()[2:])
        plus, minus = (_fields(signed[sign]) for sign in "+-")
        found[match[1]] = Changed(structs[match[1]], minus, plus)
    return found


def _fields(lines: list[str]) -> tuple[Field, ...]:
    body = "".join(f"    {line}\n" for line in lines)
    return model.parse_structs(f"struct s [0 bytes]\n{body}")[0].fields if lines else ()


# ---- C++ ---------------------------------------------------------------------------------------


def source(api: Api) -> str:
    table = forwards(api)
    structs = changed_structs(api)
    adapters, used = [], {}
    rows = []
    for index, forward in enumerate(table):
        translated = [p for p in forward.function.params if _struct_of(p.type) in structs]
        adapter = "nullptr"
        if forward.symbol13 and (forward.reordered or translated):
            for param in translated:
                used[_struct_of(param.type)] = structs[_struct_of(param.type)]
            adapters.append(_adapter(index, forward, structs))
            adapter = f"reinterpret_cast<void *>(&{forward.function.name}13)"
        name13 = f'"{forward.symbol13}"' if forward.symbol13 else "nullptr"
        rows.append(
            f'    {{"{forward.function.name}", "{forward.symbol12}", {name13}, '
            f"through<{index}>(&{forward.function.c_name}), {adapter}}},"
        )
    definitions = "\n\n".join(_layout(changed) for changed in used.values())
    table_rows = "\n".join(rows)
    return f"""\
// The functions of the aligned face by the vendor's own, in toolkits 12 and 13.
// {text.NOTE}
// clang-format off
#include <vector>

#include "runtime/forward.h"

namespace infini::cuda {{
namespace {{

[[maybe_unused]] constexpr size_t kMostEdges = 1 << 20;

// ---- What has another layout in 13 --------------------------------------------------------------

{definitions}

// ---- What is called in another way in 13 --------------------------------------------------------

{"".join(adapters)}}}  // namespace

const Forward forwards[] = {{
{table_rows}
}};

const size_t forward_count = {len(table)};
void *vendor_functions[{len(table)}], *forward_targets[{len(table)}];

}}  // namespace infini::cuda"""


def _struct_of(type_: str) -> str:
    match = re.fullmatch(r"(?:const )?(?:struct )?(\w+) \*", type_)
    return match[1] if match else ""


def _member(field: Field) -> str:
    return declare(field.type, field.name) + "".join(f"[{n}]" for n in field.dims) + ";"


def _layout(changed: Changed) -> str:
    """The struct in 13: new members are at its end."""
    if any(field.fields for field in changed.kept):  # a member that is a union, copied as a whole
        before = changed.struct.name
        members = [f"{before} before;", *map(_member, changed.added)]
        moves = ["to.before = from;"]
        back = ["to = from.before;"]
    else:
        members = [*map(_member, changed.kept), *map(_member, changed.added)]
        moves = [f"move(to.{field.name}, from.{field.name});" for field in changed.kept]
        back = moves
    ours, theirs = changed.struct.name, f"{changed.word}13"
    lines = [f"struct {theirs} {{", *(f"    {member}" for member in members), "};"]
    lines += [f"[[maybe_unused]] void translate({theirs} &to, const {ours} &from) {{"]
    lines += ["    memset(&to, 0, sizeof to);", *(f"    {move}" for move in moves), "}"]
    lines += [f"[[maybe_unused]] void translate({ours} &to, const {theirs} &from) {{"]
    lines += ["    memset(&to, 0, sizeof to);", *(f"    {move}" for move in back), "}"]
    return "\n".join(lines)


def _adapter(index: int, forward: Forward, structs: dict[str, Changed]) -> str:
    function = forward.function
    ours = {param.name: param for param in function.params}
    theirs = {param.name for param in forward.params13}
    left = [param for param in function.params if param.name not in theirs]
    types, arguments = [], []
    before, after = [], []
    for param in forward.params13:
        struct = _struct_of(param.type)
        type_ = param.type
        if struct in structs:
            word = structs[struct].word
            const = "const " if param.type.startswith("const ") else ""
            type_ = f"{const}{word}13 *"
            before.append(f"{word}13 {param.name}13;")
            if ours[param.name].role == "in":
                before.append(f"translate({param.name}13, *{param.name});")
            else:
                before.append(f"memset(&{param.name}13, 0, sizeof {param.name}13);")
                after.append(f"translate(*{param.name}, {param.name}13);")
                after += _attributes(structs[struct], param.name)
            arguments.append(f"&{param.name}13")
        elif param.name in ours:
            arguments.append(param.name)
        elif param.bare == "infinirtMemLocation":
            number = next(p.name for p in left if p.type == "int")
            arguments.append(f"location_of({number})")
        elif param.type == "infinirtGraphEdgeData *":
            # Edges may have data, which a query without a buffer for it must not hide.
            count, nodes = function.params[-1].name, function.params[-2].name
            before.append(
                f"const size_t room = {nodes} && {count} && *{count} <= kMostEdges ? *{count} : 0;"
            )
            before.append("std::vector<infinirtGraphEdgeData> edges(room);")
            arguments.append("room ? edges.data() : nullptr")
        elif param.type == "const infinirtGraphEdgeData **":
            before.append("const infinirtGraphEdgeData *edges = nullptr;")
            arguments.append("dependencies_out ? &edges : nullptr")  # refused alone
        else:
            arguments.append("nullptr" if param.type.endswith("*") else "0")
        types.append(type_)
    for mine in left:
        if mine.is_pointer:  # which of many failed: no longer reported by 13
            before.append(f"if ({mine.name}) *{mine.name} = SIZE_MAX;")
    call = f"vendor_function<int({', '.join(types)})>({index})"
    lines = [text.call(f"Error {function.name}13", [param.c for param in function.params], " {")]
    lines += [f"    {line}" for line in before]
    lines += [f"    int error = {call}({', '.join(arguments)});"]
    lines += [f"    if (!error) {line}" for line in after]
    return "\n".join([*lines, "    return static_cast<Error>(error);", "}", "", ""])


def _attributes(changed: Changed, name: str) -> list[str]:
    """Former struct members that are now attributes."""
    known = cuda13_differences.ATTRIBUTES
    return [
        f"{name}->{field.name} = attribute({PREFIX}DevAttr{known[field.name]}, device);"
        for field in changed.gone
        if changed.word == "DeviceProp" and field.name in known
    ]
