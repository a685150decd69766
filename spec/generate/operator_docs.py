"""The reference pages of the operators, in Markdown: one page for each family."""

from __future__ import annotations

import importlib
from collections import defaultdict

from .. import Api, First
from ..model import parse_enums
from ..operators import ENUMS, OPERATORS
from ..operators.language.model import Operator, Tensor
from . import docs, text
from .operator_face import Face, is_result
from .operator_headers import signatures
from .operator_python import definition_source, kinds, shape_text

PART = "docs"

ROLES = {"in": "read", "out": "written", "inout": "read and written"}
LAYOUTS = {"any": "any strides", "inner1": "last stride 1", "dense": "row-major without gaps"}


def files(api: Api, first: First) -> dict[str, str]:
    groups: dict[str, list[Operator]] = defaultdict(list)
    for operator in OPERATORS:
        groups[operator.family].append(operator)
    pages = {
        f"docs/reference/operators/{name}.md": _page(name, operators)
        for name, operators in sorted(groups.items())
    }
    pages["docs/reference/operators.md"] = _index(groups)
    return pages


def _title(group: str) -> str:
    doc = importlib.import_module(f"spec.operators.declarations.{group}").__doc__ or group
    return doc.strip().splitlines()[0].rstrip(".:")


def _index(groups: dict[str, list[Operator]]) -> str:
    rows = [
        [
            f"[{_title(group)}](operators/{group}.md)",
            ", ".join(f"[`{op.name}`](operators/{group}.md#{op.name})" for op in operators),
        ]
        for group, operators in sorted(groups.items())
    ]
    functions = sum(len(signatures(operator)) for operator in OPERATORS)
    return docs.page(
        "The operators",
        f"{len(OPERATORS)} operators, {functions} C functions. Each is declared once, in"
        " `spec/operators/declarations`; this page, the C headers, the entry points, the argument"
        " checks, the Python functions and the tests are derived from it.",
        docs.table(["family", "operators"], rows),
        "## Enumerations",
        *(docs.enum_section(enum.name, enum.doc, enum.values) for enum in parse_enums(ENUMS)),
    )


def _page(group: str, operators: list[Operator]) -> str:
    return docs.page(_title(group), *(_operator(operator) for operator in operators))


def _operator(operator: Operator) -> str:
    rows = [_tensor(tensor) for tensor in operator.tensors]
    rows += [
        [f"`{p.name}`", "", "", "told by the function" if is_result(p) else "data only", ""]
        for p in operator.run.pointers
        if not p.tensor
    ]
    python = "\n".join(_python(Face(operator, n)) for n in range(len(operator.runs)))
    declarations = "\n".join(
        text.call(f"infiniStatus_t {name}", params, ";") for name, params in signatures(operator)
    )
    parts = [
        f"## {operator.name}",
        operator.doc,
        f"```python\n{python}\n```",
        docs.table(["tensor", "element types", "shape", "use", "strides"], rows),
        _remarks(operator),
        "What it computes:",
        f"```python\n{definition_source(operator)}\n```",
        docs.code(f'#include "infiniop/ops/{operator.header}.h"\n\n{declarations}'),
    ]
    return "\n\n".join(part for part in parts if part)


def _tensor(tensor: Tensor) -> list[str]:
    use = ROLES[tensor.role] + (", may be absent" if tensor.optional else "")
    what = f"`{tensor.name}`" + (" (list)" if tensor.array else "")
    return [what, kinds(tensor), f"`{shape_text(tensor)}`", use, LAYOUTS[tensor.layout]]


def _python(face: Face) -> str:
    words = [n + (f"={default}" if default else "") for n, _, default in face.parameters]
    return text.call(f"op.{face.name}", words, "")


def _remarks(operator: Operator) -> str:
    remarks = []
    if operator.where:
        conditions = "; ".join(f"`{condition}`" for condition in operator.where)
        remarks.append(f"Conditions: {conditions}.")
    if operator.unsupported:
        remarks.append(f"Not supported on the CPU: {operator.unsupported}.")
    if operator.host_result:
        remarks.append("Its result goes to the host: the call waits, and cannot be captured.")
    if not operator.workspace:
        remarks.append("It has no workspace function.")
    return " ".join(remarks)
