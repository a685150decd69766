"""The C++ text of expressions: functors, templated on the value type.

The text uses the functions of `expression` by their names, `number<V>` for constants and `select`;
who compiles it brings these, for vectors (backends/cpu/kernels) or for single numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .expression import Node

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "bitand": "&"}
COMPARE = {"less": "<", "less_equal": "<=", "equal": "=="}
LOGIC = {"both": "&", "either": "|"}
TRUTHS = frozenset({*COMPARE, *LOGIC, "negate", "isnan", "isinf"})


@dataclass(frozen=True)
class Functor:
    body: str  # the lines of eval(const V *x, V *y)
    inputs: int
    outputs: int
    shared: int  # a bit for each input that all elements share
    functions: frozenset[str]  # that it calls


def emit(nodes: list[Node], is_leaf: Callable[[Node], bool]) -> tuple[Functor, list[Node]]:
    """The functor that computes `nodes`, and the leaves that are its inputs."""
    writer = _Writer(is_leaf)
    results = [writer.value(node) for node in nodes]
    lines = [*writer.lines, *(f"y[{i}] = {result};" for i, result in enumerate(results))]
    shared = 0
    for position, leaf in enumerate(writer.leaves):
        if leaf.op in ("attribute", "scalar", "extent"):
            shared |= 1 << position
    functor = Functor(
        "\n".join(lines), len(writer.leaves), len(nodes), shared, frozenset(writer.functions)
    )
    return functor, writer.leaves


class _Writer:
    def __init__(self, is_leaf: Callable[[Node], bool]) -> None:
        self.is_leaf = is_leaf
        self.lines: list[str] = []
        self.leaves: list[Node] = []
        self.values: dict[Node, str] = {}
        self.truths: dict[Node, str] = {}
        self.functions: set[str] = set()

    def value(self, node: Node) -> str:
        """The name of a node as a value."""
        if node not in self.values:
            self.values[node] = self.new_value(node)
        return self.values[node]

    def truth(self, node: Node) -> str:
        """The name of a node as a condition."""
        if node not in self.truths:
            if node.op in TRUTHS and not self.is_leaf(node):
                text = self.condition(node)
            else:
                text = f"{self.value(node)} != {_number(0)}"
            self.truths[node] = self.line("auto", "m", text)
        return self.truths[node]

    def new_value(self, node: Node) -> str:
        if node.op == "constant":
            return self.line("V", "c", _number(node.data))
        if self.is_leaf(node):
            self.leaves.append(node)
            return f"x[{len(self.leaves) - 1}]"
        if node.op in TRUTHS:
            text = f"select({self.truth(node)}, {_number(1)}, {_number(0)})"
        elif node.op == "where":
            condition, yes, no = node.args
            text = f"select({self.truth(condition)}, {self.value(yes)}, {self.value(no)})"
        elif node.op in INFIX:
            a, b = map(self.value, node.args)
            text = f"{a} {INFIX[node.op]} {b}"
        elif node.op == "neg":
            text = f"-{self.value(node.args[0])}"
        else:
            self.functions.add(node.op)
            text = f"{node.op}({', '.join(map(self.value, node.args))})"
        return self.line("V", "t", text)

    def condition(self, node: Node) -> str:
        if node.op in COMPARE:
            a, b = map(self.value, node.args)
            return f"{a} {COMPARE[node.op]} {b}"
        if node.op in LOGIC:
            a, b = map(self.truth, node.args)
            return f"{a} {LOGIC[node.op]} {b}"
        if node.op == "negate":
            return f"{self.truth(node.args[0])} == 0"
        x = self.value(node.args[0])
        return f"{x} != {x}" if node.op == "isnan" else f"absolute({x}) == {_number(math.inf)}"

    def line(self, kind: str, letter: str, text: str) -> str:
        name = f"{letter}{len(self.lines)}"
        self.lines.append(f"const {kind} {name} = {text};")
        return name


def _number(value: float | int | bool) -> str:
    if math.isnan(value):
        return "number<V>(NAN)"
    if math.isinf(value):
        return f"number<V>({'-' if value < 0 else ''}INFINITY)"
    return f"number<V>({int(value) if isinstance(value, int) else repr(value)})"
