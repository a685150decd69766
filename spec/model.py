"""The shape of the API's data, and the parsers of its text form.

The files in `spec/runtime/` hold text blocks that read like a manual; this module turns them into
the dataclasses that every generator works with. The text form of a function is

    StreamGetPriority(infinirtStream_t hStream, out int *priority)
        Tell the priority of a stream. [tag] [tag: words]

Names are written without the prefix `infinirt`; a function without a return type returns
`infinirtError_t`. The role of a pointer is given in front of its type:

    out       is written; must not be null            out?      may be null
    in        is read; must not be null               in?       may be null
    inout     is read and written; must not be null
    ptr       a memory address, which the implementation checks itself
    list(n)   array that is read; parameter `n` counts it; null is right only for n = 0
    list?(n)  the same, and null means "none" for any n
    fill(n)   array that is written; `n` is its capacity and, if a pointer, on return the number of
              items; null asks for the number alone
    text(n)   buffer of `n` bytes for a text; must not be null

Tags:  [unsupported: reason]  the core's software cannot do it; a back end's own function can
       [served]               unlike the rest of a file that is UNSUPPORTED as a whole
       [anywhere]             needs no device and may be called inside a host function
       [the core's]           the core's software for every device, whatever its back end has
       [across]               its stream and its event may be of different kinds of device
       [waits]                the host may read results after it: it returns what a collective
                              that failed left behind
       [symbol: Name]         the library's symbol, where it is not the function's name
       [same as: Name]        second name of another function; both share that one's symbol
       [calls: Name(args)]    first generation: the call of the aligned face that does the work
       [by hand]              first generation: written in C++, not derived
       [kind: NAME]           collectives: which one it is
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from textwrap import dedent

PREFIX = "infinirt"

# Handles that an entry point turns into objects: C type -> (C++ class, look-up in class Call).
HANDLES = {
    "infinirtStream_t": ("Stream", "stream"),
    "infinirtEvent_t": ("Event", "event"),
    "infinirtGraph_t": ("Graph", "graph"),
    "infinirtGraphNode_t": ("Node", "node"),
    "infinirtGraphExec_t": ("Exec", "exec"),
    "infinirtMemPool_t": ("Pool", "pool"),
    "infinirtUserObject_t": ("UserObject", "user_object"),
}

ROLES = ("out", "out?", "in", "in?", "inout", "ptr", "list", "list?", "fill", "text")


@dataclass(frozen=True)
class Param:
    type: str  # as C spells it: "const infinirtGraphNode_t *"
    name: str
    role: str = ""  # one of ROLES; empty for plain values
    count: str = ""  # the parameter that counts a list, fill or text
    default: str = ""  # default argument in C++

    @property
    def is_pointer(self) -> bool:
        return self.type.endswith("*")

    @property
    def handle(self) -> tuple[str, str] | None:
        return HANDLES.get(self.type)

    @property
    def required(self) -> bool:
        """Whether the entry point rejects null."""
        return self.role in ("out", "in", "inout", "text")

    @property
    def c(self) -> str:
        return declare(self.type, self.name)


@dataclass(frozen=True)
class Function:
    name: str  # without the prefix
    group: str
    returns: str
    params: tuple[Param, ...]
    doc: str
    tags: dict[str, str]
    symbol: str = ""  # without the prefix; filled in by the loader

    @property
    def c_name(self) -> str:
        return PREFIX + self.name

    @property
    def c_symbol(self) -> str:
        return PREFIX + self.symbol

    @property
    def unsupported(self) -> str:
        """Why the core's software cannot serve it; empty when it can."""
        return self.tags.get("unsupported", "")

    @property
    def served(self) -> bool:
        return not self.unsupported

    @property
    def anywhere(self) -> bool:
        return "anywhere" in self.tags

    @property
    def of_the_core(self) -> bool:
        return "the core's" in self.tags

    @property
    def same_as(self) -> str:
        return self.tags.get("same as", "")

    @property
    def signature(self) -> str:
        params = ", ".join(param.c for param in self.params) or "void"
        return declare(self.returns, f"{self.c_name}({params})")


@dataclass(frozen=True)
class Group:
    name: str
    title: str
    doc: str
    functions: tuple[Function, ...]


@dataclass(frozen=True)
class Enumerator:
    name: str
    value: int
    doc: str = ""


@dataclass(frozen=True)
class Enum:
    name: str
    values: tuple[Enumerator, ...]
    doc: str = ""

    @property
    def typedef_only(self) -> bool:
        """First generation: `typedef enum { ... } name;`, without a tag."""
        return self.name.endswith("_t")


@dataclass(frozen=True)
class Field:
    type: str  # "struct" or "union" when `fields` are given
    name: str  # empty for an anonymous member
    dims: tuple[int, ...] = ()
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True)
class Struct:
    kind: str  # "struct" or "union"
    name: str
    size: int  # bytes, on 64-bit machines
    fields: tuple[Field, ...]


@dataclass(frozen=True)
class Typedef:
    name: str
    type: str

    @property
    def c(self) -> str:
        if "(*)" in self.type:
            return self.type.replace("(*)", f"(*{self.name})")
        return declare(self.type, self.name)


@dataclass(frozen=True)
class Macro:
    name: str
    text: str

    @cached_property
    def value(self) -> int | None:
        """The number it stands for, where it does."""
        number = re.search(r"(-?(?:0[xX][0-9a-fA-F]+|\d+))\)*$", self.text)
        return int(number[1], 0) if number else None


def declare(type_: str, name: str) -> str:
    return type_ + name if type_.endswith("*") else f"{type_} {name}"


# ---- Text form ---------------------------------------------------------------------------------


class SpecError(ValueError):
    pass


def blocks_of(text: str) -> list[tuple[str, list[str]]]:
    """Split a text into (head at column 0, indented lines below it). '#' starts a comment line."""
    blocks: list[tuple[str, list[str]]] = []
    for line in dedent(text).splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if blocks and _unfinished(blocks[-1][0]):
            blocks[-1] = (f"{blocks[-1][0]} {line.strip()}", [])  # a declaration over several lines
        elif line[0] != " ":
            blocks.append((line.strip(), []))
        elif blocks:
            blocks[-1][1].append(line)
        else:
            raise SpecError(f"indented line without a head: {line!r}")
    return blocks


def _unfinished(head: str) -> bool:
    return head.count("(") > head.count(")") or head.endswith(" =")


_ROLE = re.compile(r"(out\??|inout|in\??|ptr|(?:list\??|fill|text)\((?P<count>\w+)\)) (?P<rest>.*)")
_TAGS = "unsupported|served|anywhere|the core's|across|waits|symbol|same as|calls|by hand|kind"
_TAG = re.compile(rf"\[({_TAGS})(?:: ([^\]]*))?\]")


def parse_param(text: str) -> Param:
    role = count = default = ""
    if match := _ROLE.fullmatch(text):
        role, count, text = match[1].split("(")[0], match["count"] or "", match["rest"]
    if " = " in text:
        text, default = text.split(" = ")
    match = re.fullmatch(r"(.*?[\s*])(\w+)", text)
    if not match:
        raise SpecError(f"not a parameter: {text!r}")
    param = Param(match[1].strip(), match[2], role, count, default)
    if param.is_pointer and not role:
        raise SpecError(f"a pointer without a role: {text!r}")
    return param


def parse_signature(head: str, returns: str) -> tuple[str, str, tuple[Param, ...]]:
    """`[type] Name(params)` -> (type, name, params)."""
    match = re.fullmatch(r"(.*?)(\w+)\((.*)\)", head)
    if not match:
        raise SpecError(f"not a function: {head!r}")
    params = tuple(parse_param(p) for p in re.split(r", ", match[3])) if match[3] else ()
    names = {param.name for param in params}
    if missing := {param.count for param in params if param.count} - names:
        raise SpecError(f"{match[2]}: no parameter {missing} to count with")
    return match[1].strip() or returns, match[2], params


def parse_functions(text: str, group: str) -> tuple[Function, ...]:
    functions = []
    for head, lines in blocks_of(text):
        returns, name, params = parse_signature(head, "infinirtError_t")
        words = " ".join(line.strip() for line in lines)
        tags = {match[1]: match[2] or "" for match in _TAG.finditer(words)}
        doc = re.sub(r"\s+", " ", _TAG.sub("", words)).strip()
        functions.append(Function(name, group, returns, params, doc, tags))
    return tuple(functions)


def parse_enums(text: str) -> tuple[Enum, ...]:
    """`enum name` over lines of `enumerator = value   words`."""
    enums = []
    for head, lines in blocks_of(text):
        match = re.fullmatch(r"enum (\w+)(?:  +(.*))?", head)
        if not match:
            raise SpecError(f"not an enum: {head!r}")
        values = []
        for line in lines:
            item = re.fullmatch(r"\s+(\w+) = (-?\w+)(?:\s+(.*))?", line)
            if not item:
                raise SpecError(f"{match[1]}: not an enumerator: {line!r}")
            values.append(Enumerator(item[1], int(item[2], 0), item[3] or ""))
        enums.append(Enum(match[1], tuple(values), match[2] or ""))
    return tuple(enums)


def parse_structs(text: str) -> tuple[Struct, ...]:
    """`struct name [size bytes]` over fields; `union name:` or `struct:` opens a nested one."""
    structs = []
    for head, lines in blocks_of(text):
        match = re.fullmatch(r"(struct|union) (\w+) \[(\d+) bytes\]", head)
        if not match:
            raise SpecError(f"not a struct: {head!r}")
        fields, rest = _fields(lines, 4)
        if rest:
            raise SpecError(f"{match[2]}: wrong indentation: {rest[0]!r}")
        structs.append(Struct(match[1], match[2], int(match[3]), fields))
    return tuple(structs)


def _fields(lines: list[str], indent: int) -> tuple[tuple[Field, ...], list[str]]:
    fields = []
    while lines and len(lines[0]) - len(lines[0].lstrip()) == indent:
        text, lines = lines[0].strip(), lines[1:]
        if nested := re.fullmatch(r"(struct|union)(?: (\w+))?:", text):
            inner, lines = _fields(lines, indent + 4)
            fields.append(Field(nested[1], nested[2] or "", (), inner))
            continue
        match = re.fullmatch(r"(.*?[\s*])(\w+)((?:\[\d+\])*)", text)
        if not match:
            raise SpecError(f"not a field: {text!r}")
        dims = tuple(int(n) for n in re.findall(r"\d+", match[3]))
        fields.append(Field(match[1].strip(), match[2], dims))
    return tuple(fields), lines


def parse_typedefs(text: str) -> tuple[Typedef, ...]:
    return tuple(Typedef(*head.split(" = ", 1)) for head, _ in blocks_of(text))


def parse_macros(text: str) -> tuple[Macro, ...]:
    return tuple(Macro(*head.split(" = ", 1)) for head, _ in blocks_of(text))
