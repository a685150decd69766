"""The C entry points of the operators, and the table with the properties of each."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.model import Operator, Param, Pointer, Run
from ..operators.language.model import symbols as names_in
from . import text
from .operator_checks import Rules, Translator
from .operator_headers import create_params, run_params, signatures, workspace_names

PART = "c"

CORE = [
    "infiniopCreateHandle",
    "infiniopDestroyHandle",
    "infiniopCreateTensorDescriptor",
    "infiniopDestroyTensorDescriptor",
    "infiniopGetDescriptorDeviceType",
    "infiniopGetDescriptorDeviceId",
]


def files(api: Api, first: First) -> dict[str, str]:
    groups: dict[str, list[Operator]] = defaultdict(list)
    for operator in OPERATORS:
        groups[operator.family].append(operator)
    made = {f"src/operators/entries_{name}.cc": _entries(ops) for name, ops in groups.items()}
    made["src/operators/table.h"] = _enum()
    made["src/operators/table.cc"] = _table(first)
    made["src/operators/infiniop.map"] = _exports()
    return made


# Headers whose functions are not operators: public ones, and those for libinfinicore.
BEYOND = ("include/infini/op_ext.h", "csrc/base/operator_services.h")


def _beyond() -> list[str]:
    root = Path(__file__).resolve().parents[2]
    text = "".join((root / name).read_text(encoding="utf-8") for name in BEYOND)
    return re.findall(r"^INFINI_EXPORT [^;]*?(infini\w+)\(", text, re.M)


def exported() -> list[str]:
    names = [*CORE, *_beyond()]
    for operator in OPERATORS:
        names += [name for name, _ in signatures(operator)]
    return sorted(names)


def _exports() -> str:
    symbols = "".join(f"        {name};\n" for name in exported())
    return f"""\
/* What libinfiniop exports. {text.NOTE} */
{{
    global:
{symbols}    local:
        *;
}};"""


def _enum() -> str:
    names = "".join(f"    {operator.c_name},\n" for operator in OPERATORS)
    return f"""\
// The operators by number. {text.NOTE}
#pragma once

#include "check.h"

namespace infini::op {{

enum class Op : int {{
{names}}};

inline const OperatorInfo &info_of(Op op) {{ return kOperators[static_cast<int>(op)]; }}

}}  // namespace infini::op"""


# ---- The table ----------------------------------------------------------------------------------


def _table(first: First) -> str:
    checks = "".join(f"void check_{operator.c_name}(Checker &);\n" for operator in OPERATORS)
    lowered = "".join(f"void lower_{op.c_name}(Lowering &);\n" for op in OPERATORS if op.lowered)
    arrays = "".join(map(_arrays, OPERATORS))
    rows = "".join(map(_row, OPERATORS))
    dtypes = first.enum("infiniDtype_t").values
    names = "".join(
        text.case(value.name, f'"{value.name.removeprefix("INFINI_DTYPE_")}"') + "\n"
        for value in dtypes
    )
    return f"""\
// What is known of each operator. {text.NOTE}
#include "table.h"

namespace infini::op {{

{checks}{lowered}
namespace {{

{arrays}
}}  // namespace

const OperatorInfo kOperators[] = {{
{rows}}};

const char *dtype_name(int dtype) {{
    switch (dtype) {{
{names}    default: return "of no known kind";
    }}
}}

}}  // namespace infini::op"""


def _bool(value: object) -> str:
    return "true" if value else "false"


def _arrays(operator: Operator) -> str:
    attributes = [param.name for param in operator.attributes]
    name = operator.c_name
    lines = []
    rows = "".join(
        f'    {{"{t.c_name}", {_bool(t.optional)}, {_bool(t.array)}}},\n' for t in operator.tensors
    )
    lines.append(f"const TensorInfo tensors_{name}[] = {{\n{rows}}};\n")
    if attributes:
        listed = ", ".join(f'"{attribute}"' for attribute in attributes)
        lines.append(f"const char *const attributes_{name}[] = {{{listed}}};\n")
    tensors = [tensor.name for tensor in operator.tensors]
    for number, run in enumerate(operator.runs):
        rows = ""
        for pointer in run.pointers:
            tensor = tensors.index(pointer.tensor) if pointer.tensor else -1
            host = not pointer.tensor and pointer.type in ("void **", "size_t *")
            rows += (
                f'    {{"{pointer.name}", {tensor}, {_bool(pointer.optional)}, {_bool(host)}}},\n'
            )
        lines.append(f"const PointerInfo pointers_{name}_{number}[] = {{\n{rows}}};\n")
    rows = "".join(
        f'    {{"{run.name}", pointers_{name}_{number}, {len(run.pointers)}}},\n'
        for number, run in enumerate(operator.runs)
    )
    lines.append(f"const RunInfo runs_{name}[] = {{\n{rows}}};\n")
    return "".join(lines) + "\n"


def _row(operator: Operator) -> str:
    name = operator.c_name
    attributes = f"attributes_{name}" if operator.attributes else "nullptr"
    reason = f'"{operator.unsupported}"' if operator.unsupported else "nullptr"
    names = [param.name for param in operator.attributes]
    array = next((names.index(tensor.array) for tensor in operator.tensors if tensor.array), -1)
    letters = "".join(map(_letter, operator.attributes))
    lengths = "".join(_length(names, param) for param in operator.attributes)
    return (
        f'    {{"{operator.name}", "{name}", tensors_{name}, {attributes}, "{letters}",\n'
        f'     "{lengths}", {array}, runs_{name},\n'
        f"     {len(operator.tensors)}, {len(operator.attributes)}, {len(operator.runs)}, "
        f"{_bool(operator.workspace)}, {_bool(operator.host_result)},\n"
        f"     {reason}, check_{name}, {f'lower_{name}' if operator.lowered else 'nullptr'}}},\n"
    )


LETTERS = {
    **{"bool": "b", "char": "c", "uint8_t": "h", "int": "j", "int64_t": "i", "float": "e"},
    **{"size_t": "u", "uint64_t": "u", "double": "f"},
}
LIST_LETTERS = {"int": "I", "double": "D", "size_t": "L", "ptrdiff_t": "L", "int64_t": "L"}


def _letter(param: Param) -> str:
    """See OperatorInfo; enumerators are as wide as int."""
    if param.length:
        return LIST_LETTERS[param.element]
    return "s" if param.kind == "text" else LETTERS.get(param.type.removeprefix("const "), "j")


def _length(attributes: list[str], param: Param) -> str:
    """See OperatorInfo."""
    match = re.fullmatch(r"(\w+)(?:\s*/\s*(\d))?", param.length)
    if not match:
        return ".."
    if match[1].isdigit():
        return f"#{match[1]}"
    return chr(ord("A") + attributes.index(match[1])) + (match[2] or "1")


# ---- Entry points -------------------------------------------------------------------------------


def _entries(operators: list[Operator]) -> str:
    headers = sorted({operator.header for operator in operators})
    includes = "".join(f'#include "infiniop/ops/{header}.h"\n' for header in headers)
    bodies = "\n".join(map(_functions, operators))
    return f"""\
// Entry points. {text.NOTE}
{includes}#include "table.h"

using namespace infini::op;

extern "C" {{

{bodies}
}}  // extern "C\""""


def _function(name: str, params: list[str], body: str) -> str:
    head = text.call(f"infiniStatus_t {name}", params, " try {")
    return f"""\
{head}
{body}}} catch (...) {{
    return caught("{name}");
}}
"""


def _functions(operator: Operator) -> str:
    op = f"info_of(Op::{operator.c_name})"
    parts = []
    for name in operator.create_names:
        tensors = ", ".join(tensor.c_name for tensor in operator.tensors)
        body = f"    const void *const tensors[] = {{{tensors}}};\n"
        if operator.attributes:
            values = ", ".join(map(_attribute, operator.attributes))
            body += f"    const InfiniValue attributes[] = {{{values}}};\n"
        attributes = "attributes" if operator.attributes else "nullptr"
        body += f"    return create({op}, handle, desc_ptr, tensors, {attributes});\n"
        parts.append(_function(name, create_params(operator), body))
    desc = f"infiniop{operator.c_name}Descriptor_t desc"
    for name in workspace_names(operator):
        body = f"    return workspace_size({op}, desc, size);\n"
        parts.append(_function(name, [desc, "size_t *size"], body))
    for number, run in enumerate(operator.runs):
        body = _run_body(operator, run, number)
        parts.append(_function(run.name, run_params(operator, run), body))
    name = f"infiniopDestroy{operator.c_name}Descriptor"
    parts.append(_function(name, [desc], f"    return destroy({op}, desc);\n"))
    return "\n".join(parts)


def _attribute(param: Param) -> str:
    if param.kind in ("list", "numbers", "text"):
        return f"{{.list = {_pointer(param)}}}"
    return _scalar(param)


def _run_body(operator: Operator, run: Run, number: int) -> str:
    attributes = [param.name for param in operator.attributes]
    op = f"info_of(Op::{operator.c_name})"
    lines = [
        f"const OperatorInfo &info = {op};",
        f"Running running(info, info.runs[{number}], desc);",
    ]
    scalars: list[Param] = []
    for param in run.scalars:
        if param.name not in attributes:
            scalars.append(param)
        elif param.kind in ("integer", "number"):
            index = attributes.index(param.name)
            lines.append(f"running.same({index}, double({param.name}));")
        elif param.length:
            index = attributes.index(param.name)
            lines.append(f"running.same({index}, {param.name}, size_t({param.length}));")
    for name, tensor in operator.options.get("run_counts", {}).items():
        if any(scalar.name == name for scalar in scalars):
            index = [t.name for t in operator.tensors].index(tensor)
            lines.append(f'running.counts({index}, int64_t({name}), "{name}");')
    names = {param.name for param in run.scalars}
    for condition in operator.run_where:
        if names_in(condition) & names:
            lines.append(_run_condition(operator, run, condition))
    arrays = any(p.array for p in run.pointers) or any(p.length for p in scalars)
    emit = _with_arrays if arrays else _without_arrays
    lines += emit(operator, run, scalars, number)
    workspace = "workspace, workspace_size" if operator.workspace else "nullptr, 0"
    counts = (
        "pointers.data(), pointers.size(), scalars.data(), scalars.size()"
        if arrays
        else f"pointers, {len(run.pointers)}, {_scalars_of(operator, scalars)}"
    )
    lines.append(f"return running.launch({workspace}, {counts}, stream);")
    return "".join(f"    {line}\n" for line in lines)


def _run_condition(operator: Operator, run: Run, condition: str) -> str:
    translate = RunTranslator(Rules(operator), run)
    value = translate(ast.parse(condition, mode="eval").body)
    given = ", ".join(
        f'{{"{param.name}", double({param.name})}}'
        for param in run.scalars
        if param.name in names_in(condition)
    )
    kept = ", ".join(
        f'{{"{name}", double(running.kept({index}))}}'
        for index, name in enumerate(translate.rules.kept())
        if name in names_in(condition)
    )
    values = ", ".join(filter(None, [given, kept]))
    return f'running.demand({value}, "{condition}", {{{values}}});'


class RunTranslator(Translator):
    """Conditions over the values stored in a descriptor and the arguments of a run."""

    def __init__(self, rules: Rules, run: Run):
        super().__init__(rules)
        self.scalars = {param.name: param.kind for param in run.scalars}

    def Name(self, node: ast.Name) -> str:
        if node.id in self.scalars:
            c_type = "double" if self.scalars[node.id] == "number" else "int64_t"
            return f"{c_type}({node.id})"
        kept = self.rules.kept()
        if node.id in kept:
            return f"running.kept({kept.index(node.id)})"
        if node.id in self.rules.attributes:
            return f"running.descriptor().attributes[{self.rules.attributes[node.id]}].value.i"
        raise self._error(node)


def _scalars_of(operator: Operator, scalars: list[Param]) -> str:
    count = len(scalars) + (len(operator.runs) > 1)
    return f"scalars, {count}" if count else "nullptr, 0"


def _pointer(pointer: Pointer | Param) -> str:
    return f"const_cast<void *>(static_cast<const void *>({pointer.name}))"


def _scalar(param: Param) -> str:
    if param.kind == "number":
        return f"{{.f = {param.name}}}"
    return f"{{.i = int64_t({param.name})}}"


def _without_arrays(operator: Operator, run: Run, scalars: list[Param], number: int) -> list[str]:
    lines = [f"void *pointers[] = {{{', '.join(map(_pointer, run.pointers))}}};"]
    values = [_scalar(param) for param in scalars]
    if len(operator.runs) > 1:
        values.append(f"{{.i = {number}}}")
    if values:
        lines.append(f"const InfiniScalar scalars[] = {{{', '.join(values)}}};")
    return lines


def _with_arrays(operator: Operator, run: Run, scalars: list[Param], number: int) -> list[str]:
    attributes = [param.name for param in operator.attributes]
    lines = ["std::vector<void *> pointers;", "std::vector<InfiniScalar> scalars;"]
    for pointer in run.pointers:
        if not pointer.array:
            lines.append(f"pointers.push_back({_pointer(pointer)});")
            continue
        count = pointer.array
        if count in attributes:
            count = f"running.descriptor().attributes[{attributes.index(count)}].value.i"
        lines.append(f"size_t count_{pointer.name} = size_t({count});")
        lines.append(
            f"running.host({pointer.name}, count_{pointer.name} * sizeof(void *), "
            f'"{pointer.name}");'
        )
        lines.append(
            f"for (size_t i = 0; i < count_{pointer.name}; ++i) "
            f"pointers.push_back(const_cast<void *>({pointer.name}[i]));"
        )
    for param in scalars:
        if not param.length:
            lines.append(f"scalars.push_back({_scalar(param)});")
            continue
        field = "f" if param.kind == "numbers" else "i"
        lines.append(
            f"running.host({param.name}, size_t({param.length}) * sizeof *{param.name}, "
            f'"{param.name}");'
        )
        lines.append(
            f"for (size_t i = 0; i < size_t({param.length}); ++i) "
            f"scalars.push_back({{.{field} = {param.name}[i]}});"
        )
    if len(operator.runs) > 1:
        lines.append(f"scalars.push_back({{.i = {number}}});")
    return lines
