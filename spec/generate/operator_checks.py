"""The rules of the declarations as C++: one check function for each operator.

Three passes: kinds of tensors, sizes that bind symbols, and everything computed from these.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import ClassVar

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.model import DTYPES, DeclarationError, Operator, Tensor
from ..operators.language.model import symbols as names_in
from . import text

PART = "c"


def files(api: Api, first: First) -> dict[str, str]:
    groups: dict[str, list[Operator]] = defaultdict(list)
    for operator in OPERATORS:
        groups[operator.family].append(operator)
    return {f"src/operators/checks_{name}.cc": _file(ops) for name, ops in groups.items()}


def _file(operators: list[Operator]) -> str:
    bodies = "\n".join(_check(operator) for operator in operators)
    return f"""\
// Rules of the declarations. {text.NOTE}
#include <algorithm>
#include <cmath>

#include "check.h"

namespace infini::op {{

{bodies}
}}  // namespace infini::op"""


def _check(operator: Operator) -> str:
    rules = Rules(operator)
    body = "".join(f"    {line}\n" for line in rules.lines())
    return f"void check_{operator.c_name}(Checker &c) {{\n    (void)c;\n{body}}}\n"


class Rules:
    def __init__(self, operator: Operator):
        self.operator = operator
        self.tensors = {tensor.name: i for i, tensor in enumerate(operator.tensors)}
        self.attributes = {param.name: i for i, param in enumerate(operator.attributes)}
        self.kinds = {param.name: param.kind for param in operator.attributes}
        self.symbols: dict[str, None] = {}
        self.sizes: dict[str, None] = {}
        for tensor in operator.tensors:
            for shape in tensor.shapes:
                for size in shape:
                    if size.startswith("*"):
                        self.sizes[size[1:]] = None
                    elif size.isidentifier() and size not in self.attributes:
                        self.symbols[size] = None

    def lines(self) -> Iterable[str]:
        for index, tensor in enumerate(self.operator.tensors):
            yield from self._kinds(index, tensor)
        for name in self.symbols:
            yield f'Checker::Symbol s_{name}{{"{name}"}};'
        for name in self.sizes:
            yield f'Checker::Sizes l_{name}{{"*{name}"}};'
        for bind in (True, False):
            for index, tensor in enumerate(self.operator.tensors):
                if not tensor.array:
                    yield from self._shape(index, tensor, bind)
        for condition in self.operator.where:
            yield from self._condition(condition)
        for name in self.kept():
            yield f"c.keep(s_{name});"
        for name in self.symbols:
            yield f"(void)s_{name};"

    def kept(self) -> list[str]:
        """The symbols that runs are checked against."""
        used = {name for condition in self.operator.run_where for name in names_in(condition)}
        return [name for name in self.symbols if name in used]

    # ---- Kinds ----------------------------------------------------------------------------------

    def _kinds(self, index: int, tensor: Tensor) -> Iterable[str]:
        rules = []
        if tensor.same_as:
            if tensor.same_as not in self.tensors:
                raise DeclarationError(f"{self.operator.name}: no tensor {tensor.same_as}")
            rules.append(f"c.same_dtype({index}, {self.tensors[tensor.same_as]})")
        else:
            mask = sum(1 << DTYPES.index(dtype) for dtype in tensor.dtypes)
            rules.append(f"c.dtype({index}, {mask:#x})")
        if tensor.sum_of:
            rules.append(f"c.sum_dtype({index}, {self.tensors[tensor.sum_of]})")
        if tensor.layout != "any":
            rules.append(f"c.{tensor.layout}({index})")
        if tensor.written:
            rules.append(f"c.writable({index})")
        guard = f"if (c.present({index})) " if tensor.optional else ""
        for rule in rules:
            yield f"{guard}{rule};"

    # ---- Shapes ---------------------------------------------------------------------------------

    def _shape(self, index: int, tensor: Tensor, bind: bool) -> Iterable[str]:
        cases = []
        for shape in tensor.shapes:
            if shape and shape[-1].startswith("/"):  # one element unless the attribute is 0
                attribute, shape = self.attributes[shape[-1][1:]], shape[:-1]
                one = [f"c.one_element({index})"] if bind else []
                cases.append((f"c.integer({attribute}) != 0", one))
            steps = list(self._sizes(index, shape, bind))
            cases.append((self._rank_test(index, shape), steps))
        if not bind and not any(steps for _, steps in cases):
            return
        expected = " or ".join(f"[{', '.join(shape)}]" for shape in tensor.shapes)
        yield f"if (c.present({index})) {{"
        keyword = "if"
        for test, steps in cases:
            yield f"    {keyword} ({test}) {{"
            yield from (f"        {step};" for step in steps)
            keyword = "} else if"
        if bind:
            yield "    } else {"
            yield f'        c.bad_rank({index}, "{expected}");'
        yield "    }"
        yield "}"

    @staticmethod
    def _rank_test(index: int, shape: tuple[str, ...]) -> str:
        fixed = sum(size[0] not in "*~-" for size in shape)
        if any(size.startswith(("~", "-")) for size in shape):
            return f"c.rank({index}) >= {fixed}" if fixed else "true"
        compare = "==" if fixed == len(shape) else ">="
        return f"c.rank({index}) {compare} {fixed}"

    def _sizes(self, index: int, shape: tuple[str, ...], bind: bool) -> Iterable[str]:
        if shape and shape[-1].startswith("-"):  # [*S, -dim]: without the listed dimensions
            if not bind:
                attribute = self.attributes[shape[-1][1:]]
                yield f"c.reduced({index}, l_{shape[0][1:]}, {attribute})"
            return
        stars = [position for position, size in enumerate(shape) if size[0] in "*~"]
        if len(stars) > 1:
            raise DeclarationError(f"{self.operator.name}: two lists of sizes in {shape}")
        for position, size in enumerate(shape):
            if stars and position > stars[0]:
                dim = f"c.rank({index}) - {len(shape) - position}"
            else:
                dim = str(position)
            if size.startswith("*"):
                end = f"c.rank({index}) - {len(shape) - position - 1}"
                if bind:
                    yield f"c.bind({index}, {position}, {end}, l_{size[1:]})"
            elif size.startswith("~"):
                if not bind:
                    yield f"c.broadcasts({index}, l_{size[1:]}, {len(shape) - 1})"
            elif size in self.symbols:
                if bind:
                    yield f"c.bind({index}, {dim}, s_{size})"
            elif not bind:
                value, guard, _, _ = self.expression(size)
                yield f'{guard}c.expect({index}, {dim}, {value}, "{size}")'

    # ---- Conditions -----------------------------------------------------------------------------

    def _condition(self, condition: str) -> Iterable[str]:
        value, guard, symbols, attributes = self.expression(condition)
        status = "BAD_PARAM" if attributes else "BAD_TENSOR_SHAPE"
        named = ", ".join(f"&s_{name}" for name in symbols if name in self.symbols)
        numbers = ", ".join(str(self.attributes[name]) for name in attributes)
        escaped = condition.replace('"', '\\"')
        yield (
            f'{guard}c.demand({value}, INFINI_STATUS_{status}, "{escaped}", {{{named}}}, '
            f"{{{numbers}}});"
        )

    def expression(self, source: str) -> tuple[str, str, list[str], list[str]]:
        """C++ for it, a guard that all symbols are bound, and the symbols and attributes in it."""
        translate = Translator(self)
        value = translate(ast.parse(source, mode="eval").body)
        bound = [f"s_{name}.bound" for name in translate.symbols if name in self.symbols]
        bound += [f"l_{name}.bound" for name in translate.symbols if name in self.sizes]
        guard = f"if ({' && '.join(bound)}) " if bound else ""
        return value, guard, translate.symbols, translate.attributes


class Translator:
    """Translates Python expressions to C++ ones over int64_t and double."""

    ZERO = "int64_t(0)"
    BINARY: ClassVar[dict[type, str]] = {
        ast.Add: "plus",
        ast.Sub: "minus",
        ast.Mult: "times",
        ast.FloorDiv: "floor_divide",
        ast.Mod: "modulo",
    }
    COMPARE: ClassVar[dict[type, str]] = {
        ast.Eq: "==",
        ast.NotEq: "!=",
        ast.Lt: "<",
        ast.LtE: "<=",
        ast.Gt: ">",
        ast.GtE: ">=",
    }

    def __init__(self, rules: Rules):
        self.rules = rules
        self.symbols: list[str] = []
        self.attributes: list[str] = []

    def __call__(self, node: ast.expr) -> str:
        handler: Callable[[ast.expr], str] | None = getattr(self, type(node).__name__, None)
        if handler is None:
            raise self._error(node)
        return handler(node)

    def _error(self, node: ast.AST) -> DeclarationError:
        name = self.rules.operator.name
        return DeclarationError(f"{name}: cannot be said in a condition: {ast.unparse(node)}")

    def _note(self, names: list[str], name: str) -> None:
        if name not in names:
            names.append(name)

    def Constant(self, node: ast.Constant) -> str:
        if isinstance(node.value, bool):
            return "true" if node.value else "false"
        if isinstance(node.value, int):
            return f"int64_t({node.value})"
        if isinstance(node.value, float):
            return repr(node.value)
        raise self._error(node)

    def Name(self, node: ast.Name) -> str:
        rules = self.rules
        if node.id in rules.symbols:
            self._note(self.symbols, node.id)
            return f"s_{node.id}.value"
        if node.id in rules.attributes:
            self._note(self.attributes, node.id)
            index = rules.attributes[node.id]
            return (
                f"c.number({index})" if rules.kinds[node.id] == "number" else f"c.integer({index})"
            )
        if node.id in ("inf", "infinity"):
            return "INFINITY"
        raise self._error(node)

    def BinOp(self, node: ast.BinOp) -> str:
        if type(node.op) not in self.BINARY:
            raise self._error(node)
        return f"{self.BINARY[type(node.op)]}({self(node.left)}, {self(node.right)})"

    def UnaryOp(self, node: ast.UnaryOp) -> str:
        if isinstance(node.op, ast.Not):
            return f"!({self(node.operand)})"
        if isinstance(node.op, ast.USub):
            return f"minus({type(self).ZERO}, {self(node.operand)})"
        raise self._error(node)

    def BoolOp(self, node: ast.BoolOp) -> str:
        sign = " && " if isinstance(node.op, ast.And) else " || "
        return "(" + sign.join(f"({self(value)})" for value in node.values) + ")"

    def IfExp(self, node: ast.IfExp) -> str:
        return f"(({self(node.test)}) ? ({self(node.body)}) : ({self(node.orelse)}))"

    def Compare(self, node: ast.Compare) -> str:
        parts, left = [], node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(op, ast.In | ast.NotIn) and isinstance(right, ast.Tuple):
                value = self(left)
                any_of = " || ".join(f"{value} == {self(item)}" for item in right.elts)
                parts.append(f"({any_of})" if isinstance(op, ast.In) else f"!({any_of})")
            elif type(op) in self.COMPARE:
                parts.append(f"({self(left)} {self.COMPARE[type(op)]} {self(right)})")
            else:
                raise self._error(node)
            left = right
        return "(" + " && ".join(parts) + ")"

    def Subscript(self, node: ast.Subscript) -> str:
        if not isinstance(node.value, ast.Name):
            raise self._error(node)
        name, index = node.value.id, self(node.slice)
        if name in self.rules.sizes:
            self._note(self.symbols, name)
            return f"size_at(l_{name}, {index})"
        if name in self.rules.attributes:
            self._note(self.attributes, name)
            return f"c.item({self.rules.attributes[name]}, {index})"
        raise self._error(node)

    def Call(self, node: ast.Call) -> str:
        if not isinstance(node.func, ast.Name):
            raise self._error(node)
        function, args = node.func.id, node.args
        first = args[0].id if args and isinstance(args[0], ast.Name) else ""
        rules = self.rules
        if function in ("min", "max") and len(args) == 2:
            return f"std::{function}({self(args[0])}, {self(args[1])})"
        if function == "abs" and len(args) == 1:
            return f"std::abs({self(args[0])})"
        if function == "len" and first in rules.sizes:
            self._note(self.symbols, first)
            return f"int64_t(l_{first}.values.size())"
        if function == "len" and first in rules.attributes:
            return f"int64_t(c.count({rules.attributes[first]}))"
        if function in ("prod", "numel") and first in rules.sizes:
            self._note(self.symbols, first)
            return f"product(l_{first})"
        if function == "extent" and first in rules.sizes and len(args) == 2:
            self._note(self.symbols, first)
            listed = ast.unparse(args[1])
            self._note(self.attributes, listed)
            return f"c.extent(l_{first}, {rules.attributes[listed]})"
        if function == "rank" and first in rules.tensors:
            return f"int64_t(c.rank({rules.tensors[first]}))"
        if function == "present" and first in rules.tensors:
            return f"c.present({rules.tensors[first]})"
        if function in ("given", "present") and first in rules.attributes:
            self._note(self.attributes, first)
            return f"c.given({rules.attributes[first]})"
        raise self._error(node)
