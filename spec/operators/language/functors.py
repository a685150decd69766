"""The C++ text of expressions: functors, templated on the value type.

The text uses the functions of `expression` by their names, `constant<V>` for constants and
`number<V>` for truth values as 0 and 1; who compiles it brings these, for vectors
(backends/cpu/kernels) or for single numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from .expression import Node

COMPARE = frozenset({"less", "less_equal", "equal", "isnan", "isinf", "signbit"})
LOGIC = frozenset({"both", "either", "differ", "negate"})
TRUTHS = COMPARE | LOGIC
NAMES = {  # in C++, where they differ
    "bitand": "bit_and",
    "bitor": "bit_or",
    "bitxor": "bit_xor",
    "bitnot": "bit_not",
    "lshift": "shift_left",
    "rshift": "shift_right",
}


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
                text = f"{self.value(node)} != {_constant(0)}"
            self.truths[node] = self.line("auto", "m", text)
        return self.truths[node]

    def new_value(self, node: Node) -> str:
        if node.op == "constant":
            return self.line("V", "c", _constant(node.data))
        if self.is_leaf(node):
            self.leaves.append(node)
            return f"x[{len(self.leaves) - 1}]"
        if node.op in TRUTHS:
            text = f"number<V>({self.truth(node)})"
        elif node.op == "where":
            condition, yes, no = node.args
            text = f"where({self.truth(condition)}, {self.value(yes)}, {self.value(no)})"
        elif node.op == "div":  # of integers too, towards zero
            a, b = map(self.value, node.args)
            text = f"quotient({a}, {b})"
        else:
            text = self.call(node.op, list(map(self.value, node.args)))
        return self.line("V", "t", text)

    def condition(self, node: Node) -> str:
        named = self.value if node.op in COMPARE else self.truth
        return self.call(node.op, list(map(named, node.args)))

    def call(self, op: str, arguments: list[str]) -> str:
        self.functions.add(op)
        return f"{NAMES.get(op, op)}({', '.join(arguments)})"

    def line(self, kind: str, letter: str, text: str) -> str:
        name = f"{letter}{len(self.lines)}"
        self.lines.append(f"const {kind} {name} = {text};")
        return name


def _constant(value: float | int | bool) -> str:
    if math.isnan(value):
        return "constant<V>(NAN)"
    if math.isinf(value):
        return f"constant<V>({'-' if value < 0 else ''}INFINITY)"
    return f"constant<V>({int(value) if isinstance(value, int) else repr(value)})"
