"""From definitions to programs: calls a definition with nodes and divides the resulting tree into
stages.

The divisions are the folds. The argument of a fold is evaluated for each element of a row;
expressions that depend only on folds, once per row. So softmax becomes: the maximum of x; exp(x -
maximum), kept and summed; the reciprocal of the sum, once; the product. See csrc/base/program.h for
what the parts mean.
"""

from __future__ import annotations

import inspect
import itertools
from dataclasses import dataclass, field
from typing import Any

from .expression import FLOAT, INT, Node, lift, ordered
from .model import DeclarationError, Operator, Param, Tensor
from .nodes import COSTLY, Expression, flatten
from .rewrite import rewritten

AXES = {"none": 0, "all": 1, "dim": 2, "attribute": 3, "from": 4}
FOLDS = {"sum": 1, "prod": 2, "max": 3, "min": 4, "any": 5, "all": 6, "argmax": 7, "argmin": 8}
KINDS = {
    "tensor": 1, "attribute": 2, "scalar": 3, "extent": 4, "position": 5, "element": 6, "row": 7,
}  # fmt: skip
VIEWS = {"plain": 0, "expand": 1, "first": 2, "second": 3, "item": 4}
WIDE, BLAS = 1, 2

Axis = tuple[str, int]  # a kind of AXES, and its number


@dataclass(frozen=True)
class Operand:
    kind: str
    index: int = 0
    pointer: int = 0
    integer: bool = False
    phase: int = 0
    view: str = "plain"
    axis: int = 0


@dataclass(frozen=True)
class Stage:
    kind: str  # "elements" or "rows"
    phase: int
    expression: Expression
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]  # -1: not kept
    folds: tuple[str, ...]  # "" where there is none
    folded: tuple[int, ...]


@dataclass
class Program:
    operator: Operator
    present: frozenset[str]  # the optional tensors that it is for
    cases: dict[str, int]  # the attributes that it is for
    types: frozenset[str]  # that it computes in: "float", "double", "int64_t", "uint64_t"
    operands: list[Operand] = field(default_factory=list)
    phases: list[Axis] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    flags: int = 0

    def operand(self, operand: Operand) -> int:
        if operand.kind in ("element", "row") or operand not in self.operands:
            self.operands.append(operand)
            return len(self.operands) - 1
        return self.operands.index(operand)


def programs(operator: Operator) -> list[Program]:
    """One for each combination of optional tensors and values of `cases`."""
    if operator.kernel or operator.unsupported:
        return []
    optional = [tensor.name for tensor in operator.tensors if tensor.optional]
    cases: dict[str, tuple[int, ...]] = operator.options.get("cases", {})
    found = []
    for given in itertools.product((True, False), repeat=len(optional)):
        present = frozenset(name for name, here in zip(optional, given, strict=True) if here)
        for values in itertools.product(*cases.values()):
            chosen = dict(zip(cases, values, strict=True))
            found.append(_Tracer(operator, present, chosen).program)
    return found


def tensor_dtypes(operator: Operator, present: frozenset[str]) -> list[set[str]]:
    """The element types that each tensor may have."""
    by_name = {tensor.name: tensor for tensor in operator.tensors}

    def dtypes(tensor: Tensor) -> set[str]:
        return dtypes(by_name[tensor.same_as]) if tensor.same_as else set(tensor.dtypes)

    return [dtypes(t) for t in operator.tensors if not t.optional or t.name in present]


def value_types(operator: Operator, present: frozenset[str]) -> frozenset[str]:
    """The types that an operator may have to compute in."""
    all_dtypes = tensor_dtypes(operator, present)
    every = set[str]().union(*all_dtypes)
    types = set()
    if every & {"F8", "F16", "BF16", "F32"}:
        types.add("float")
    if "F64" in every:
        types.add("double")
    if all(any(dtype[0] in "IUB" and dtype != "BF16" for dtype in some) for some in all_dtypes):
        types |= {"int64_t"} | ({"uint64_t"} if "U64" in every else set())
    return frozenset(types)


class _Tracer:
    def __init__(self, operator: Operator, present: frozenset[str], cases: dict[str, int]):
        self.operator = operator
        self.program = Program(operator, present, cases, value_types(operator, present))
        self.unique: dict[Any, Node] = {}
        self.known: dict[Node, Node] = {}
        self.phase_of: dict[Node, int] = {}
        self.rows: dict[tuple[int, Node], int] = {}  # operands with a value for each row
        self.elements: dict[tuple[int, Node], int] = {}
        self.numbers = {t.name: i for i, t in enumerate(operator.tensors)}
        outputs = self.call()
        self.find_phases([node for _, node in outputs])
        self.cut(outputs)
        if operator.options.get("blas"):
            self.program.flags |= BLAS
        if operator.options.get("wide"):
            self.program.flags |= WIDE
        if self.program.flags & WIDE:
            types = self.program.types
            self.program.types = types - {"float"} | {"double"} if "float" in types else types

    # ---- Calling the definition -----------------------------------------------------------------

    def call(self) -> list[tuple[Tensor, Node]]:
        op, program = self.operator, self.program

        def here(tensor: Tensor) -> bool:
            return not tensor.optional or tensor.name in program.present

        arguments: dict[str, Any] = {}
        for index, attribute in enumerate(op.attributes):
            arguments[attribute.name] = self.number("attribute", attribute, index)
        scalars = op.run.scalars
        for index, scalar in enumerate(scalars):
            if scalar.name not in arguments and not any(s.length for s in scalars[: index + 1]):
                arguments[scalar.name] = self.number("scalar", scalar, index)
        for tensor in op.inputs:
            node = Node("tensor", (), "value", (tensor.name, "plain", 0))
            arguments[tensor.name] = node if here(tensor) else None
        # Stand-ins: programs serve all shapes and dtypes.
        arguments["shapes"] = {tensor.name: Node("shape") for tensor in op.tensors}
        arguments["dtypes"] = {tensor.name: "any" for tensor in op.tensors}
        accepted = inspect.signature(op.definition).parameters
        if unknown := set(accepted) - set(arguments):
            raise DeclarationError(f"{op.name}: no program can know {sorted(unknown)}")
        result = op.definition(**{name: arguments[name] for name in accepted})
        results = list(result) if isinstance(result, tuple) else [result]
        written = list(op.outputs)
        if len(results) != len(written):
            written = [tensor for tensor in written if here(tensor)]
        if len(results) != len(written):
            raise DeclarationError(f"{op.name}: {len(results)} results, {len(written)} outputs")
        pairs = zip(written, results, strict=True)
        return [(tensor, self.canonical(lift(node))) for tensor, node in pairs if here(tensor)]

    def number(self, kind: str, param: Param, index: int) -> Any:
        if param.name in self.program.cases:
            return self.program.cases[param.name]
        integer = param.kind == "integer"
        return Node(kind, (), INT if integer else FLOAT, (index, integer))

    def canonical(self, node: Node) -> Node:
        """The same tree with equal subtrees made one."""
        if node not in self.known:
            self.known[node] = self.new_canonical(node)
        return self.known[node]

    def new_canonical(self, node: Node) -> Node:
        args = tuple(self.canonical(arg) for arg in node.args)
        op, data = node.op, node.data
        if op == "fold":
            data = (data[0], self.axis(data[1]))
            if data[0].startswith("arg"):
                self.program.flags |= WIDE
        elif op == "extent":
            args, data = (), self.axis(data)
        elif op == "position":
            args = ()
        made = Node(op, args, node.kind, data)
        if not self.program.types & {"int64_t", "uint64_t"}:
            other = rewritten(made)
            if other is not None:
                return self.canonical(other)
        made = self.unique.setdefault((op, args, repr(data)), made)
        self.known[made] = made
        return made

    def axis(self, axis: Any) -> Axis:
        if isinstance(axis, Node):
            if axis.op != "attribute":
                raise DeclarationError(f"{self.operator.name}: an axis that is no attribute")
            return ("attribute", axis.data[0])
        if isinstance(axis, str):
            return ("all", 0) if axis == "all" else ("from", int(axis.rstrip(":")))
        return ("dim", int(axis))

    # ---- Phases ---------------------------------------------------------------------------------

    def find_phases(self, outputs: list[Node]) -> None:
        phases = self.program.phases
        for fold in (node for node in ordered(outputs) if node.op == "fold"):
            axis, first = fold.data[1], 0
            for inner in (node for node in ordered([fold.args[0]]) if node.op == "fold"):
                after = 0 if inner.data[1] == axis else 1
                first = max(first, self.phase_of[inner] + after)
            found = [p for p, a in enumerate(phases) if p >= first and a == axis]
            if not found:
                phases.append(axis)
            self.phase_of[fold] = found[0] if found else len(phases) - 1
        if not phases:
            phases.append(("none", 0))

    def domain(self, node: Node, phase: int) -> str:
        """Whether a node has a value per element, per row, or one for all."""
        if node.op in ("tensor", "position"):
            return "element"
        if node.op == "fold":
            return "row" if self.phase_of[node] == phase else "element"
        domains = {self.domain(arg, phase) for arg in node.args}
        return "element" if "element" in domains else "row" if "row" in domains else "all"

    # ---- Stages ---------------------------------------------------------------------------------

    def cut(self, outputs: list[tuple[Tensor, Node]]) -> None:
        last = {tensor: self.last_phase(node) for tensor, node in outputs}
        full = [
            last[tensor]
            for tensor, node in outputs
            if last[tensor] >= 0 and self.domain(node, last[tensor]) == "element"
        ]
        for phase in range(len(self.program.phases)):
            mine = []
            for tensor, node in outputs:
                where = last[tensor] if last[tensor] >= 0 else max(full, default=0)
                if where == phase:
                    mine.append((tensor, node))
            self.cut_phase(phase, mine)

    def last_phase(self, node: Node) -> int:
        return max((self.phase_of[n] for n in ordered([node]) if n.op == "fold"), default=-1)

    def cut_phase(self, phase: int, outputs: list[tuple[Tensor, Node]]) -> None:
        folds = [fold for fold, where in self.phase_of.items() if where == phase]
        levels: dict[Node, int] = {}
        for fold in folds:
            inner = [levels[n] for n in ordered([fold.args[0]]) if n in levels]
            levels[fold] = 1 + max(inner, default=-1)
        by_row = {t for t, node in outputs if folds and self.domain(node, phase) != "element"}
        full = [(tensor, node) for tensor, node in outputs if tensor not in by_row]
        groups: list[list[Node]] = [
            [fold for fold in folds if levels[fold] == level]
            for level in range(1 + max(levels.values(), default=-1))
        ]
        wanted = [list(dict.fromkeys(fold.args[0] for fold in group)) for group in groups]
        if full:
            wanted.append([node for _, node in full])
        kept = self.kept(wanted, phase)
        for number, nodes in enumerate(wanted):
            final = bool(full) and number == len(wanted) - 1
            also = [node for node, stage in kept.items() if stage == number and node not in nodes]
            self.element_stage(
                phase,
                [*nodes, *also],
                [] if final else groups[number],
                [tensor for tensor, _ in full] if final else [],
                {node for node, stage in kept.items() if stage == number},
            )
        if by_row:
            written = [(tensor, node) for tensor, node in outputs if tensor in by_row]
            self.row_stage(phase, [node for _, node in written], [t for t, _ in written])

    def kept(self, wanted: list[list[Node]], phase: int) -> dict[Node, int]:
        """Costly values that a later stage needs again, and the stage that computes them."""
        made: dict[Node, int] = {}
        kept: dict[Node, int] = {}

        def visit(node: Node, stage: int) -> None:
            if not node.args or node.op == "fold" or self.domain(node, phase) != "element":
                return
            if made.get(node, stage) < stage and self.costly(node, phase):
                kept[node] = made[node]
                return
            for arg in node.args:
                visit(arg, stage)
            made.setdefault(node, stage)

        for stage, nodes in enumerate(wanted):
            for node in nodes:
                visit(node, stage)
        return kept

    def costly(self, node: Node, phase: int) -> bool:
        if node.op == "fold" or self.domain(node, phase) != "element":
            return False
        return node.op in COSTLY or any(self.costly(arg, phase) for arg in node.args)

    def element_stage(
        self,
        phase: int,
        nodes: list[Node],
        folds: list[Node],
        tensors: list[Tensor],
        kept: set[Node],
    ) -> None:
        needed = [n for n in self.row_leaves(nodes, phase) if (phase, n) not in self.rows]
        if needed:
            self.row_stage(phase, needed, [])
        expression, leaves = flatten(nodes, lambda node: self.is_leaf(node, phase))
        inputs = tuple(self.leaf(node, phase) for node in leaves)
        outputs = []
        for position, node in enumerate(nodes):
            if position < len(tensors):
                outputs.append(self.tensor(tensors[position].name))
            elif node in kept:
                operand = self.program.operand(Operand("element", phase=phase))
                self.elements[phase, node] = operand
                outputs.append(operand)
            else:
                outputs.append(-1)
        # An output has one fold; for a second fold of the same value, the value is output again.
        rest = list(folds)
        kinds, folded = [], []
        for node in nodes:
            fold = next((fold for fold in rest if fold.args[0] is node), None)
            kinds.append("" if fold is None else fold.data[0])
            folded.append(-1 if fold is None else self.row_operand(fold, phase))
            if fold is not None:
                rest.remove(fold)
        self.program.stages.append(
            Stage(
                "elements", phase, expression, inputs, tuple(outputs), tuple(kinds), tuple(folded)
            )
        )
        if rest:
            self.element_stage(
                phase, list(dict.fromkeys(fold.args[0] for fold in rest)), rest, [], set()
            )

    def row_stage(self, phase: int, nodes: list[Node], tensors: list[Tensor]) -> None:
        def is_leaf(node: Node) -> bool:
            return node.op == "fold" or (phase, node) in self.rows or not node.args

        expression, leaves = flatten(nodes, is_leaf)
        inputs = tuple(self.leaf(node, phase) for node in leaves)
        if tensors:
            outputs = tuple(self.tensor(tensor.name) for tensor in tensors)
        else:
            outputs = tuple(self.row_operand(node, phase) for node in nodes)
        none = tuple("" for _ in nodes)
        unfolded = tuple(-1 for _ in nodes)
        self.program.stages.append(
            Stage("rows", phase, expression, inputs, outputs, none, unfolded)
        )

    def row_leaves(self, nodes: list[Node], phase: int) -> list[Node]:
        """Row values that the stage needs and that are not folds."""
        found: list[Node] = []

        def visit(node: Node) -> None:
            if (phase, node) in self.elements or not node.args:
                return
            if self.domain(node, phase) == "row":
                if node.op != "fold" and node not in found:
                    found.append(node)
                return
            if node.op != "fold":
                for arg in node.args:
                    visit(arg)

        for node in nodes:
            visit(node)
        return found

    def is_leaf(self, node: Node, phase: int) -> bool:
        if not node.args or node.op == "fold" or (phase, node) in self.elements:
            return True
        return self.domain(node, phase) == "row"

    # ---- Operands -------------------------------------------------------------------------------

    def leaf(self, node: Node, phase: int) -> int:
        if (phase, node) in self.elements:
            return self.elements[phase, node]
        if (phase, node) in self.rows:
            return self.rows[phase, node]
        if node.op == "fold":
            return self.rows[self.phase_of[node], node]
        operand = self.program.operand
        if node.op == "tensor":
            return self.tensor(*node.data)
        if node.op in ("attribute", "scalar"):
            return operand(Operand(node.op, node.data[0], integer=node.data[1]))
        if node.op == "extent":
            if node.data not in self.program.phases:
                raise DeclarationError(f"{self.operator.name}: the extent of no fold")
            return operand(Operand("extent", phase=self.program.phases.index(node.data)))
        return operand(Operand("position", axis=node.data))

    def row_operand(self, node: Node, phase: int) -> int:
        operand = self.program.operand(Operand("row", phase=phase))
        self.rows[phase, node] = operand
        return operand

    def tensor(self, name: str, view: str = "plain", axis: int = 0) -> int:
        for index, pointer in enumerate(self.operator.run.pointers):
            if pointer.tensor == name:
                operand = Operand("tensor", self.numbers[name], index, view=view, axis=axis)
                return self.program.operand(operand)
        raise DeclarationError(f"{self.operator.name}: the run function has no data of {name}")
