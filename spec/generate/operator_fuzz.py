"""Calls of every operator with random arguments, for tests/native/operator_fuzz_test.cc. Shapes
follow the declaration, so that most cases reach the kernels; the test then invalidates some.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.model import DTYPES, Operator, Param, Run, Tensor
from . import text
from .operator_checks import Rules, Translator

PART = "c"


def files(api: Api, first: First) -> dict[str, str]:
    return {"tests/operator_calls.h": _calls()}


def _calls() -> str:
    headers = sorted({operator.header for operator in OPERATORS})
    includes = "".join(f'#include "infiniop/ops/{header}.h"\n' for header in headers)
    rows = "".join(map(_row, OPERATORS))
    return f"""\
// Random calls of every operator. {text.NOTE}
{includes}
const Operator kOperators[] = {{
{rows}}};"""


def _row(operator: Operator) -> str:
    rules = FuzzRules(operator)
    tensors = "".join(f"         {{{_tensor(rules, tensor)}}},\n" for tensor in operator.tensors)
    shapes = "".join(f"         {line}\n" for line in rules.shape_lines())
    runs = "".join(_run(operator, run) for run in operator.runs)
    arguments = ", ".join(_create_argument(operator, param) for param in operator.create)
    workspace = (
        f"infiniopGet{operator.c_name}WorkspaceSize(desc, size)"
        if operator.workspace
        else "(*size = 0, INFINI_STATUS_SUCCESS)"
    )
    return f"""\
    {{"{operator.name}",
     {{
{tensors}     }},
     {len(operator.attributes)},
     [](Fuzz &f) {{
         (void)f;
{shapes}     }},
     [](Fuzz &f, infiniopHandle_t handle, InfiniopDescriptor **desc) {{
         return {operator.create_names[0]}(handle, desc, {arguments});
     }},
     [](InfiniopDescriptor *desc, size_t *size) {{ (void)desc; return {workspace}; }},
     {{
{runs}     }},
     [](InfiniopDescriptor *desc) {{ return infiniopDestroy{operator.c_name}Descriptor(desc); }}}},
"""


def _tensor(rules: FuzzRules, tensor: Tensor) -> str:
    mask = sum(1 << DTYPES.index(dtype) for dtype in tensor.dtypes)
    same = rules.tensors[tensor.same_as] if tensor.same_as else -1
    array = rules.attributes[tensor.array] if tensor.array else -1
    written = str(tensor.written).lower()
    dense = str(tensor.layout != "any").lower()
    return f"{mask:#x}, {same}, {str(tensor.optional).lower()}, {written}, {dense}, {array}"


def _create_argument(operator: Operator, param: Tensor | Param) -> str:
    if isinstance(param, Tensor):
        index = operator.tensors.index(param)
        return f"f.descriptors({index})" if param.array else f"f.descriptor({index})"
    return _attribute(operator, param)


def _attribute(operator: Operator, param: Param) -> str:
    index = [p.name for p in operator.attributes].index(param.name)
    kind = param.kind
    if kind == "text":
        return f"f.text({index})"
    if kind in ("list", "numbers"):
        return f"f.list<{param.element}>({index})"
    c_type = param.type.replace("const ", "")
    return f"{c_type}(f.{'number' if kind == 'number' else 'integer'}({index}))"


def _run(operator: Operator, run: Run) -> str:
    arguments = []
    attributes = [param.name for param in operator.attributes]
    tensors = [tensor.name for tensor in operator.tensors]
    for param in run.params:
        if isinstance(param, Param):
            c_type = param.type.replace("const ", "")
            if param.name in attributes:
                arguments.append(_attribute(operator, param))
            elif param.length:
                arguments.append(f"f.fresh_list<{param.element}>()")
            elif param.kind == "number":
                arguments.append(f"{c_type}(f.fresh_number())")
            else:
                arguments.append(f"{c_type}(f.fresh_integer())")
        elif not param.tensor and param.type == "void **":
            arguments.append("f.result()")
        elif not param.tensor and param.array:
            arguments.append(f"f.pointers({attributes.index(param.array)})")
        elif not param.tensor:
            arguments.append(f"static_cast<{param.type}>(f.scratch())")
        elif param.array:
            arguments.append(f"f.data_list({tensors.index(param.tensor)})")
        else:
            data = f"f.data({tensors.index(param.tensor)})"
            arguments.append(f"static_cast<{param.type}>({data})")
    workspace = "workspace, bytes, " if operator.workspace else ""
    unused = "" if operator.workspace else "(void)workspace, (void)bytes; "
    return f"""\
         [](Fuzz &f, InfiniopDescriptor *desc, void *workspace, size_t bytes, void *stream) {{
             {unused}return {run.name}(desc, {workspace}{", ".join(arguments)}, stream);
         }},
"""


class FuzzRules(Rules):
    """Derives shapes from symbols, instead of symbols from shapes."""

    def shape_lines(self) -> Iterable[str]:
        for name in self.symbols:
            yield f"const int64_t s_{name} = f.symbol(); (void)s_{name};"
        for name in self.sizes:
            yield f"const Sizes l_{name} = f.sizes();"
        for index, tensor in enumerate(self.operator.tensors):
            if len(tensor.shapes) > 1:
                yield f"switch (f.choice({len(tensor.shapes)})) {{"
            for number, shape in enumerate(tensor.shapes):
                made = f"f.shape({index}, {self._made(shape)});"
                if len(tensor.shapes) > 1:
                    yield f"case {number}: {made} break;"
                else:
                    yield made
            if len(tensor.shapes) > 1:
                yield "}"

    def _made(self, shape: tuple[str, ...]) -> str:
        parts = []
        for size in shape:
            if size.startswith("*"):
                parts.append(f"l_{size[1:]}")
            elif size.startswith("~"):
                parts.append(f"f.broadcast(l_{size[1:]})")
            elif size.startswith("-"):
                parts[-1] = f"f.reduced({parts[-1]}, {self.attributes[size[1:]]})"
            elif size.startswith("/"):
                index = self.attributes[size[1:]]
                return f"f.integer({index}) ? Sizes() : join({{{', '.join(parts)}}})"
            elif size in self.symbols:
                parts.append(f"Sizes{{s_{size}}}")
            else:
                value = FuzzTranslator(self)(ast.parse(size, mode="eval").body)
                parts.append(f"Sizes{{{value}}}")
        return f"join({{{', '.join(parts)}}})"


class FuzzTranslator(Translator):
    def Name(self, node: ast.Name) -> str:
        if node.id in self.rules.symbols:
            return f"s_{node.id}"
        if node.id in self.rules.attributes:
            return f"f.integer({self.rules.attributes[node.id]})"
        raise self._error(node)

    def Subscript(self, node: ast.Subscript) -> str:
        return super().Subscript(node).replace("c.item(", "f.item(")

    def Call(self, node: ast.Call) -> str:
        return super().Call(node).replace("c.given(", "f.given(").replace("c.", "f.")
