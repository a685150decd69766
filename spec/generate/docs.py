"""The reference pages, in Markdown."""

from __future__ import annotations

from .. import Api, First, cuda13_differences, model
from ..load import call_of
from ..model import Field, Function, Group, Param, Struct, declare
from ..runtime.left_out import LEFT_OUT
from . import text

PART = "docs"

ROLES = {
    "out": "is written",
    "out?": "is written; may be null",
    "in": "is read",
    "in?": "is read; may be null",
    "inout": "is read and written",
    "ptr": "an address",
    "list": "array of `{count}`, is read",
    "list?": "array of `{count}`, is read; may be null",
    "fill": "array with room for `{count}`, is written; null asks for the number only",
    "text": "buffer of `{count}` bytes, is written",
}


def files(api: Api, first: First) -> dict[str, str]:
    pages = {f"runtime/{group.name}.md": group_page(group, api) for group in api.groups}
    pages |= {
        "runtime/index.md": index_page(api),
        "runtime/errors.md": errors_page(api),
        "runtime/types.md": types_page(api),
        "first-generation.md": first_page(first),
        "support.md": support_page(api),
        "differences-13.md": differences_page(),
    }
    return {f"docs/reference/{name}": page for name, page in pages.items()}


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"<!-- {text.NOTE} -->", f"# {title}", *(part for part in parts if part)])


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def code(lines: str) -> str:
    return f"```c\n{lines}\n```"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


# ---- Functions ---------------------------------------------------------------------------------


def index_page(api: Api) -> str:
    rows = []
    for group in api.groups:
        served = sum(function.served for function in group.functions)
        rows.append([f"[{group.title}]({group.name}.md)", str(len(group.functions)), str(served)])
    rows.append(["all", str(len(api.functions)), str(sum(f.served for f in api.functions))])
    return page(
        "The runtime API",
        "Read `infinirt` as `cuda`, and every declaration of `infinirt_runtime_api.h` is that of"
        " CUDA 12.9. What the core's software serves works on every device; the rest works where"
        " a back end brings the function itself, and elsewhere returns"
        " `infinirtErrorNotSupported`.",
        table(["group", "functions", "served by the core"], rows),
        "See also: [types](types.md), [error codes](errors.md), [support](../support.md),"
        " [differences to CUDA 13](../differences-13.md),"
        " [the first generation](../first-generation.md).",
    )


def group_page(group: Group, api: Api) -> str:
    return page(group.title, group.doc, *(_function(function) for function in group.functions))


def _function(function: Function) -> str:
    head = declare(function.returns, function.c_name)
    parts = [
        f"## {function.c_name}",
        code(text.call(head, text.params(function), ";")),
        function.doc,
        "\n".join(_argument(param) for param in function.params),
        _support(function),
    ]
    return "\n\n".join(part for part in parts if part)


def _argument(param: Param) -> str:
    role = ROLES[param.role].format(count=param.count) if param.role else "a value"
    if param.handle:
        role = "a handle"
    default = f"; in C++ `{param.default}` if left out" if param.default else ""
    return f"- `{param.name}`: {role}{default}"


def _support(function: Function) -> str:
    notes = []
    if function.unsupported:
        notes.append(f"Needs a back end's own function: {function.unsupported}.")
    elif function.same_as:
        notes.append(f"The library has one symbol for it and `infinirt{function.same_as}`.")
    else:
        notes.append("Served by the core's software on every device.")
    if function.anywhere:
        notes.append("Needs no device and may be called inside a host function.")
    if function.symbol != function.name and not function.same_as:
        notes.append(f"Symbol: `{function.c_symbol}`.")
    return " ".join(notes)


def first_page(first: First) -> str:
    parts = []
    for function in first.functions:
        head = declare(function.returns, function.c_name)
        call = call_of(function)
        arguments = "\n".join(_argument(param) for param in function.params)
        parts += [
            f"## {function.c_name}",
            code(text.call(head, text.params(function), ";")),
            function.doc,
            arguments,
            f"Calls `infinirt{call[0]}({', '.join(call[1])})` of the aligned face." if call else "",
        ]
    enums = [
        enum_section(enum.name, enum.doc, enum.values) for enum in first.core_enums + first.enums
    ]
    structs = [code(_struct(struct)) for struct in first.structs]
    return page(
        "The first generation",
        "`infinirt.h` and `infinicore.h`: the functions that existing programs load by name."
        " Both faces share one implementation and can be mixed in one process, but not in one"
        " source file.",
        *parts,
        "## Types",
        *enums,
        *structs,
    )


# ---- Types -------------------------------------------------------------------------------------


def errors_page(api: Api) -> str:
    rows = [[str(v.value), f"`{v.name}`", v.doc] for v in api.errors.values]
    return page(
        "Error codes",
        "The texts are those of `infinirtGetErrorString`.",
        table(["code", "name", "text"], rows),
    )


def types_page(api: Api) -> str:
    enums = [enum_section(e.name, e.doc, e.values) for e in api.enums if e is not api.errors]
    typedefs = "\n".join(f"typedef {typedef.c};" for typedef in api.typedefs)
    macros = "\n".join(f"#define {macro.name} {macro.text}" for macro in api.macros)
    structs = [f"### {s.name}\n\n{s.size} bytes.\n\n{code(_struct(s))}" for s in api.structs]
    parts = ["## Enums", *enums, "## Names", code(typedefs), "## Structs", *structs]
    return page("Types", *parts, "## Flags and special values", code(macros))


def enum_section(name: str, doc: str, values: tuple[model.Enumerator, ...]) -> str:
    rows = [[f"`{value.name}`", str(value.value), value.doc] for value in values]
    head = ["enumerator", "value", "meaning"]
    if not any(row[2] for row in rows):
        head, rows = head[:2], [row[:2] for row in rows]
    return f"### {name}\n\n{doc}\n\n{table(head, rows)}"


def _struct(struct: Struct) -> str:
    return "\n".join([f"{struct.kind} {struct.name} {{", *_fields(struct.fields, "    "), "};"])


def _fields(fields: tuple[Field, ...], margin: str) -> list[str]:
    lines = []
    for field in fields:
        if field.fields:
            name = f" {field.name}" if field.name else ""
            lines += [f"{margin}{field.type} {{", *_fields(field.fields, margin + "    ")]
            lines.append(f"{margin}}}{name};")
        else:
            dims = "".join(f"[{n}]" for n in field.dims)
            lines.append(f"{margin}{declare(field.type, field.name)}{dims};")
    return lines


# ---- Support and differences -------------------------------------------------------------------


def _link(function: Function) -> str:
    name = function.c_name
    return f"[`{name}`](runtime/{function.group}.md#{name.lower()})"


def support_page(api: Api) -> str:
    served = sum(function.served for function in api.functions)
    rest = len(api.functions) - served
    parts = [
        f"{_count(len(api.functions), 'function')} are declared. The core's software serves"
        f" **{served}** of them on every device. The other **{rest}** work where a back end brings"
        " its own function; elsewhere they return `infinirtErrorNotSupported` with the reason.",
    ]
    for group in api.groups:
        rows = [[_link(f), "yes" if f.served else "no", f.unsupported] for f in group.functions]
        count = sum(function.served for function in group.functions)
        parts.append(f"## {group.title}: {count} of {len(rows)}")
        parts.append(table(["function", "served by the core", "why not"], rows))
    parts.append("## Not declared")
    rows = [
        [", ".join(f"`cuda{name}`" for name in names.split()), reason]
        for reason, names in LEFT_OUT.items()
    ]
    parts.append(table(["functions of CUDA 12.9", "why not"], rows))
    return page("What works where", *parts)


def differences_page() -> str:
    source = cuda13_differences
    kinds = {"-": "gone from CUDA 13", "~": "another form in CUDA 13", "+": "new in CUDA 13"}
    functions = [head for head, _ in model.blocks_of(source.FUNCTIONS)]
    parts = []
    for sign, title in kinds.items():
        lines = [head[2:] for head in functions if head[0] == sign]
        if sign == "~":
            forms = (line.rstrip(")").split("(", 1) for line in lines)
            calls = (text.call(f"infinirt{name}", args.split(", "), "") for name, args in forms)
            parts += [f"## Functions: {title}", code("\n".join(calls))]
        else:
            names = ", ".join(f"`infinirt{line}`" for line in lines)
            parts += [f"## Functions: {title}", names]
    for title, block in (("Enums", source.ENUMS), ("Structs", source.STRUCTS)):
        parts.append(f"## {title}")
        for head, lines in model.blocks_of(block):
            name = f"{head[2:]}: {kinds['-']}" if head.startswith("- ") else head
            body = "\n".join(line.strip() for line in lines)
            parts.append(f"### {name}" + (f"\n\n```diff\n{body}\n```" if body else ""))
    names = "\n".join(head for head, _ in model.blocks_of(source.NAMES))
    parts += ["## Macros", f"```diff\n{names}\n```"]
    return page(
        "Differences to CUDA 13",
        "The declarations here are those of CUDA 12.9. This page lists what CUDA"
        f" {source.VERSION} declares differently, in our spelling: `-` is gone there, `+` is new,"
        " `~` has the form that is shown. Of functions all new ones are listed; of types only"
        " those that are declared here. A test compares the page's data with NVIDIA's headers.",
        *parts,
    )
