"""Gather programs as C++: a function for every way through a definition that computes one row of
the output, and a kernel for each operator that chooses among them. The engine is
backends/cpu/kernels/window/gather.h."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from typing import Any

from .. import Api, First
from ..operators import OPERATORS
from ..operators.language.expression import BOOL, FLOAT, INT, Node
from ..operators.language.functors import NAMES
from ..operators.language.gather import ANY, Gather, Trace, traces
from ..operators.language.model import DeclarationError, Operator
from . import text

PART = "c"
TYPES = {BOOL: "bool", INT: "int64_t", FLOAT: "double", "value": "V"}
RANK = [BOOL, INT, FLOAT, "value"]
COMPARE = ("less", "less_equal", "equal")
LEAVES = ("size", "stride", "extent", "attribute", "item", "given", "constant")
COSTLY = ("div", "floordiv", "mod", "floor", "integer", "single", "real")


def files(api: Api, first: First) -> dict[str, str]:
    groups: dict[str, list[Operator]] = defaultdict(list)
    for operator in OPERATORS:
        program: Gather | None = getattr(operator.definition, "gather", None)
        if program and program.cpu:
            groups[operator.family].append(operator)
    return {f"src/cpu/gather_{name}.cc": _file(ops) for name, ops in groups.items()}


def _file(operators: list[Operator]) -> str:
    bodies = "\n\n".join(_operator(operator) for operator in operators)
    return f"""\
// Gather programs. {text.NOTE}
#include "window/gather.h"

namespace infini::cpu {{
namespace {{

{bodies}

}}  // namespace
}}  // namespace infini::cpu"""


# ---- One operator -------------------------------------------------------------------------------


def _operator(operator: Operator) -> str:
    program: Gather = vars(operator.definition)["gather"]
    parts, forms = [], []
    for number, trace in enumerate(traces(operator)):
        name = f"{operator.name}_{number}"
        split = "nullptr"
        if program.split:
            split = f"split_{name}"
            parts.append(split_function(split, trace))
        across = "{}"
        if program.axis is not None:
            parts.append(Row(f"{name}_across", trace, across=True).text)
            across = _rows(f"{name}_across", trace)
        row = Row(name, trace)
        parts.append(row.text)
        columns = "nullptr, 0, 0"
        if row.columns:
            parts.append(row.columns)
            columns = f"columns_{name}, {row.kept[0]}, {row.kept[1]}"
        count = len(trace.coordinates)
        case_text, value = case_of(trace)
        forms.append(
            f"    {{{trace.rank}, {count}, {program.inner % count}, {case_text}, {value}, {split},"
            f" {columns},\n     {_rows(name, trace)}, {across}}},"
        )
    name = operator.name
    lines = "\n".join(forms)
    parts.append(f"""\
constexpr GatherForm kForms_{name}[] = {{
{lines}
}};
std::unique_ptr<Plan> plan_{name}(const Operation &operation) {{
    static constexpr GatherInfo kInfo = {{
        {info_of(operator)}}};
    return plan_gather(operation, kInfo, kForms_{name}, std::size(kForms_{name}));
}}
INFINI_KERNEL("{name}", plan_{name});""")
    return "\n\n".join(parts)


def info_of(operator: Operator) -> str:
    """The members of a GatherInfo."""
    program: Gather = vars(operator.definition)["gather"]
    attributes = {param.name: number for number, param in enumerate(operator.attributes)}
    way, amount = "kLast", program.last or 1
    if program.flat:
        way, amount = "kFlat", 0
    elif program.batch is not None:
        way, amount = "kBatch", program.batch
    elif isinstance(program.axis, str):
        way, amount = "kAxisOf", attributes[program.axis]
    elif program.axis is not None:
        way, amount = "kAxis", program.axis
    case = attributes[next(iter(program.cases))] if program.cases else -1
    otherwise = f'"{program.otherwise}"' if program.otherwise else "nullptr"
    letters = {"list": "l", "numbers": "l", "text": "t"}
    kinds = "".join(letters.get(param.kind, "s") for param in operator.attributes)
    return f'GatherWay::{way}, {amount}, {len(program.tensors)}, "{kinds}", {case}, {otherwise}'


def _rows(name: str, trace: Trace) -> str:
    if trace.moves:
        types = ", ".join(f"&{name}<uint{bits}_t, uint{bits}_t>" for bits in (8, 16, 32, 64))
        return f"{{true, {types}}}"
    # What takes several roundings is computed in double for single precision.
    single = "float" if trace.exact else "double"
    types = ", ".join(
        f"&{name}<{t}, {v}>"
        for t, v in (("f16", "float"), ("bf16", "float"), ("float", single), ("double", "double"))
    )
    return f"{{false, {types}}}"


def case_of(trace: Trace) -> tuple[str, str]:
    """The text and the number that the attribute of a case must have."""
    value: Any = next(iter(trace.case.values()), ANY)
    if value is ANY:
        return "nullptr", "kAnyCase"
    return (f'"{value}"', "kAnyCase") if isinstance(value, str) else ("nullptr", str(value))


def split_function(name: str, trace: Trace) -> str:
    writer = Writer()
    lines, place = [], 0
    for dim, group in enumerate(trace.factors):
        for factor in group:
            lines.append(f"sizes[{place}] = {writer.name(factor)};")
            lines.append(f"dims[{place}] = {dim};")
            place += 1
    body = indent([*writer.row.lines, *lines])
    return f"void {name}(const Gather &g, int64_t *sizes, int *dims) {{\n{body}\n}}"


# ---- One way through a definition ---------------------------------------------------------------


class Frame:
    """A place for statements: before the loop over a row, in it, or in the loop of a fold."""

    def __init__(self, depth: int):
        self.depth, self.lines = depth, list[str]()


class Writer:
    """Writes each node into the outermost loop that knows all it depends on. `inner` is the
    coordinate that the row runs along; with `across` it runs along a carried dimension instead.

    What depends on the column alone and costs something is kept in tables (`columns`), computed
    with the plan. Strides along the row have names of their own (`steps`): loops are compiled for
    strides of 1 too."""

    def __init__(self, inner: Node | None = None, across: bool = False, tables: bool = False):
        self.inner, self.across, self.tables = inner, across, tables
        self.columns: list[Node] = []
        self.steps: dict[str, str] = {}
        self.row, self.element = Frame(0), Frame(1)
        self.frames: dict[Node, Frame] = {}  # of the folds' indices
        self.names: dict[Node, str] = {}
        self.found: dict[Node, frozenset[Node | None]] = {}
        self.keys: dict[Node, int] = {}
        self.numbers: dict[Any, int] = {}
        self.first: dict[int, Node] = {}
        self.count = 0

    def depends(self, node: Node) -> frozenset[Node | None]:
        """The loop variables in a node: indices of folds, and None for the row's."""
        if node not in self.found:
            here: set[Node | None] = set()
            for arg in node.args:
                here |= self.depends(arg)
            if node.op in ("total", "largest"):
                here.discard(node.data)
            elif node.op == "index":
                here.add(node)
            elif node is self.inner or (node.op == "load" and self.across):
                here.add(None)
            self.found[node] = frozenset(here)
        return self.found[node]

    def frame(self, node: Node) -> Frame:
        frames = [
            self.element if variable is None else self.frames[variable]
            for variable in self.depends(node)
        ]
        return max([self.row, *frames], key=lambda frame: frame.depth)

    def name(self, node: Node) -> str:
        """A name (or a constant) for what a node computes; the same for equal nodes."""
        node = self.first.setdefault(self.key(node), node)
        if node not in self.names:
            self.names[node] = self.new(node)
        return self.names[node]

    def key(self, node: Node) -> Any:
        """Equal for nodes that compute the same."""
        if node not in self.keys:
            if node.op in ("index", "total", "largest", "coordinate"):
                self.keys[node] = id(node)
            else:
                inside = tuple(map(self.key, node.args))
                key = (node.op, node.kind, repr(node.data), inside)
                self.keys[node] = self.numbers.setdefault(key, len(self.numbers))
        return self.keys[node]

    def new(self, node: Node) -> str:
        if node.op == "constant":
            return _constant(node.data, node.kind)
        if node.op == "coordinate":
            return f"c{node.data}"
        if node.op in ("total", "largest"):
            return self.fold(node)
        if self.tables and self.inner is not None and self.columnar(node) and self.costly(node):
            self.columns.append(node)
            return f"{self.column(node)}[c{self.inner.data}]"
        expression = self.expression(node)
        return self.define(self.frame(node), TYPES[node.kind], expression)

    def columnar(self, node: Node) -> bool:
        """Whether it depends on the column, and on nothing else that changes."""
        return None in self.depends(node) and self.known(node)

    def known(self, node: Node) -> bool:
        if node is self.inner or node.op in LEAVES:
            return True
        return bool(node.args) and node.op != "load" and all(map(self.known, node.args))

    def costly(self, node: Node) -> bool:
        return node.op in COSTLY or any(map(self.costly, node.args))

    def column(self, node: Node) -> str:
        """The table of a node: r of numbers, i of integers."""
        kind = "r" if node.kind == FLOAT else "i"
        same = [n for n in self.columns if (n.kind == FLOAT) == (node.kind == FLOAT)]
        return f"{kind}{same.index(node)}"

    def define(self, frame: Frame, kind: str, expression: str) -> str:
        name = f"t{self.count}"
        self.count += 1
        frame.lines.append(f"const {kind} {name} = {expression};")
        return name

    def fold(self, node: Node) -> str:
        count = self.as_kind(node.args[0], INT)
        outer = self.frame(node)
        inner = self.frames[node.data] = Frame(outer.depth + 1)
        number = self.count
        self.count += 1
        name, index = f"s{number}", f"k{number}"
        self.names[node.data] = index
        body = self.as_kind(node.args[1], node.kind)
        kind = TYPES[node.kind]
        start = "0" if node.op == "total" else "-std::numeric_limits<V>::infinity()"
        step = f"{name} + {body}" if node.op == "total" else f"maximum({name}, {body})"
        outer.lines += [
            f"{kind} {name} = {start};",
            f"for (int64_t {index} = 0; {index} < {count}; ++{index}) {{",
            *(f"    {line}" for line in inner.lines),
            f"    {name} = {step};",
            "}",
        ]
        return name

    def as_kind(self, node: Node, kind: str) -> str:
        if node.op == "constant":
            return _constant(node.data, kind)
        name = self.name(node)
        return name if node.kind == kind else f"{TYPES[kind]}({name})"

    def load(self, node: Node) -> str:
        number, offset = node.data, self.name(node.args[0])
        if self.across:
            self.steps[f"a{number}"] = f"g.across[{number}]"
            offset = f"{offset} + at_row * a{number}"
        if node.kind == INT:
            return f"load_index(g.wide[{number}], in[{number}], {offset})"
        return f"load_element<V>(in{number}[{offset}])"

    def expression(self, node: Node) -> str:
        op, data = node.op, node.data
        if op in ("size", "stride"):
            return f"g.{op}[{data[0]}][{data[1]}]"
        if op == "extent":
            return f"g.extent[{data}]"
        if op == "attribute":
            return f"g.{'integer' if node.kind == INT else 'number'}[{data}]"
        if op == "item" and node.kind == FLOAT:
            return f"std::bit_cast<double>(g.item[{data[0]}][{data[1]}])"
        if op == "item":
            return f"g.item[{data[0]}][{data[1]}]"
        if op == "given":
            return f"g.count[{data[0]}] > {data[1]}"
        if op == "load":
            return self.load(node)
        if op == "guarded":
            inside, found, otherwise = node.args
            test = self.name(inside)
            return f"{test} ? {self.load(found)} : {self.as_kind(otherwise, node.kind)}"
        if op == "within":
            place, size = map(self.name, node.args)
            return f"uint64_t({place}) < uint64_t({size})"
        if op in ("real", "integer"):
            return f"{TYPES[node.kind]}({self.name(node.args[0])})"
        if op == "single":
            return f"double(float({self.name(node.args[0])}))"
        if op == "both":
            return " && ".join(self.as_kind(arg, BOOL) for arg in node.args)
        if op == "where":
            condition, yes, no = node.args
            chosen = [self.as_kind(arg, node.kind) for arg in (yes, no)]
            return f"{self.name(condition)} ? {chosen[0]} : {chosen[1]}"
        if op == "mul" and node.args[1].op == "stride" and None in self.depends(node):
            number, dim = node.args[1].data
            step = f"u{number}_{dim}"
            self.steps[step] = f"g.stride[{number}][{dim}]"
            return f"mul({self.as_kind(node.args[0], INT)}, {step})"
        kind = _joined(node) if op in COMPARE else node.kind
        arguments = [self.as_kind(arg, kind) for arg in node.args]
        if op == "div":
            return f"{arguments[0]} / {arguments[1]}"
        return f"{NAMES.get(op, op)}({', '.join(arguments)})"


def _joined(node: Node) -> str:
    kinds = [arg.kind for arg in node.args if arg.op != "constant"] or [INT]
    return max(kinds, key=RANK.index)


def _constant(value: float | int | bool, kind: str) -> str:
    if kind == INT and value != int(value):
        raise DeclarationError(f"{value} among integers: say real(...) where numbers are meant")
    if kind == BOOL:
        return "true" if value else "false"
    return f"{TYPES[kind]}({int(value) if kind == INT else repr(float(value))})"


class Row:
    """A function that computes the elements [begin, end) of a row, and the one that fills its
    tables."""

    def __init__(self, name: str, trace: Trace, across: bool = False):
        assert trace.result is not None
        inner = None if across else trace.coordinates[trace.program.inner]
        self.writer = writer = Writer(inner, across, tables=not across)
        self.value = writer.as_kind(trace.result, "value")
        self.variable = "at_row" if across else f"c{trace.program.inner % len(trace.coordinates)}"
        others = [n for n in writer.names if n.op == "coordinate" and n is not inner]
        inputs = sorted({n.data for n in writer.found if n.op == "load" and n.kind != INT})
        head = [
            *(f"const T *const in{n} = static_cast<const T *>(in[{n}]);" for n in inputs),
            *(f"const int64_t c{node.data} = at[{node.data}];" for node in others),
        ]
        for node in writer.columns:
            table, kind = writer.column(node), TYPES[FLOAT if node.kind == FLOAT else INT]
            head.append(f"const {kind} *const {table} = g.{_member(table)};")
        lines = [*head, *writer.row.lines, *self._loop()]
        self.text = f"""\
template <class T, class V>
void {name}(INFINI_GATHER_ROW) {{
    T *const __restrict out = static_cast<T *>(to);
{indent(lines)}
}}"""
        tables = [writer.column(node) for node in writer.columns]
        self.kept = tuple(sum(table[0] == letter for table in tables) for letter in "ir")
        self.columns = self._columns(name) if tables else ""

    def _loop(self) -> list[str]:
        """The loop over the row. With strides of 1 known to it, it can become vectors."""
        steps = self.writer.steps
        loop = [
            f"for (int64_t {self.variable} = begin; {self.variable} < end; ++{self.variable}) {{",
            *(f"    {line}" for line in self.writer.element.lines),
            f"    store_element(out[{self.variable} * by], {self.value});",
            "}",
        ]
        if not steps:
            return ["const int64_t by = step;", *loop]
        names = {"by": "step", **steps}
        ones = " && ".join(f"{value} == 1" for value in names.values())
        return [
            "const auto row = [&](auto unit) {",
            *(f"    const int64_t {n} = unit.value ? 1 : {value};" for n, value in names.items()),
            *(f"    {line}" for line in loop),
            "};",
            f"{ones} ? row(std::true_type()) : row(std::false_type());",
        ]

    def _columns(self, name: str) -> str:
        writer = Writer(self.writer.inner)
        stores = []
        for node in self.writer.columns:
            value = writer.name(node)
            stores.append(f"g.{_member(self.writer.column(node))}[{self.variable}] = {value};")
        steps = [f"const int64_t {n} = {value};" for n, value in writer.steps.items()]
        lines = [
            *steps,
            *writer.row.lines,
            f"for (int64_t {self.variable} = 0; {self.variable} < count; ++{self.variable}) {{",
            *(f"    {line}" for line in [*writer.element.lines, *stores]),
            "}",
        ]
        return f"void columns_{name}(Gather &g, int64_t count) {{\n{indent(lines)}\n}}"


def _member(table: str) -> str:
    return f"{'integers' if table[0] == 'i' else 'reals'}[{table[1:]}]"


def indent(lines: list[str]) -> str:
    return textwrap.indent("\n".join(lines), "    ")
