"""Expressions as data: lists of nodes in the order of evaluation, as `InfiniExpression` of
csrc/base/program.h carries them. All properties of expressions that back ends query are here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from .expression import BOOL, FUNCTIONS, Node

INPUT, CONSTANT = "input", "constant"
# Their order gives the numbers of InfiniNodeOp, so functions are only ever appended.
OPS = (INPUT, CONSTANT, "where", "nextafter", *FUNCTIONS)
TRUTHS = frozenset(name for name, function in FUNCTIONS.items() if function.kind == BOOL)
_COSTLY = """
    exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh
    atan2 erf erfc erfinv one_plus_erf digamma lgamma power fmod hypot floordiv mod gcd lcm
"""
COSTLY = frozenset(_COSTLY.split())  # functions that take about ten operations
COPY = 1  # flags
# For integers: functions whose result needs no more bits than the arguments, and functions whose
# low result bits depend only on the low argument bits.
_BITS = frozenset({"bitand", "bitor", "bitxor", "where"})
_EXACT = _BITS | {"maximum", "minimum", "fmax", "fmin", "rshift", "fmod", "mod"} | TRUTHS
_WRAPPING = _BITS | {"add", "sub", "mul", "neg", "bitnot"}
# Functions whose result is an argument, perhaps with another sign, or a whole number close to it.
_SELECTING = TRUTHS | {"where", "absolute", "neg", "maximum", "minimum", "fmax", "fmin"}
_SELECTING |= {"floor", "ceil", "trunc", "nearest", "copysign"}


class FlatNode(NamedTuple):
    """One node. The arguments are numbers of earlier nodes; that of an input is its own number."""

    op: str
    args: tuple[int, ...] = ()
    value: float | int | bool = 0  # of a constant


@dataclass(frozen=True)
class Expression:
    nodes: tuple[FlatNode, ...]
    results: tuple[int, ...]  # the node of each output
    shared: int  # a bit for each input that all elements share

    @property
    def inputs(self) -> int:
        return sum(node.op == INPUT for node in self.nodes)

    @property
    def outputs(self) -> int:
        return len(self.results)

    @cached_property
    def functions(self) -> frozenset[str]:
        return frozenset(node.op for node in self.nodes) - {INPUT, CONSTANT}

    @property
    def truths(self) -> int:
        """A bit mask of the results that are always 0 or 1."""
        return sum(1 << i for i, n in enumerate(self.results) if self.nodes[n].op in TRUTHS)

    @property
    def flags(self) -> int:
        return COPY if self.nodes == (FlatNode(INPUT, (0,)),) and self.results == (0,) else 0

    @property
    def wraps(self) -> bool:
        """Whether narrow integers give the low bits of the wide result."""
        exact: list[bool] = []
        for op, args, value in self.nodes:
            known = [exact[arg] for arg in args] if op != INPUT else []
            if op == CONSTANT:
                if value != int(value) or not 0 <= value < 128:
                    return False
            elif op in ("absolute", "where"):
                if not known[0]:
                    return False
            elif op in ("lshift", "floordiv"):
                if not all(known):
                    return False
            elif op != INPUT and op not in _WRAPPING and not (op in _EXACT and all(known)):
                return False
            exact.append(op in (INPUT, CONSTANT) or (op in _EXACT and all(known)))
        return True

    @property
    def selects(self) -> bool:
        """Whether every result is a number of the tensors' type, so that it need not be rounded."""
        constants = (node.value for node in self.nodes if node.op == CONSTANT)
        return (
            self.shared == 0
            and self.functions <= _SELECTING
            and all(value == int(value) and abs(value) <= 256 for value in constants)
        )

    @property
    def cost(self) -> int:
        """The approximate cost, in operations per element."""
        made = sum(node.op != INPUT for node in self.nodes)
        return made + self.outputs - 1 + 10 * len(self.functions & COSTLY)


COPYING = Expression((FlatNode(INPUT, (0,)),), (0,), 0)


def flatten(nodes: list[Node], is_leaf: Callable[[Node], bool]) -> tuple[Expression, list[Node]]:
    """The expression that computes `nodes`, and the leaves that are its inputs."""
    flat: list[FlatNode] = []
    leaves: list[Node] = []
    numbers: dict[Node, int] = {}

    def number(node: Node) -> int:
        if node not in numbers:
            if node.op == CONSTANT:
                flat.append(FlatNode(CONSTANT, (), node.data))
            elif is_leaf(node):
                leaves.append(node)
                flat.append(FlatNode(INPUT, (len(leaves) - 1,)))
            else:
                flat.append(FlatNode(node.op, tuple(map(number, node.args))))
            numbers[node] = len(flat) - 1
        return numbers[node]

    results = tuple(map(number, nodes))
    shared = sum(
        1 << position
        for position, leaf in enumerate(leaves)
        if leaf.op in ("attribute", "scalar", "extent")
    )
    return Expression(tuple(flat), results, shared), leaves
