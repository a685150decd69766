"""Rules that replace patterns by faster or more accurate functions, for all back ends.

A rule takes a node and returns the node that replaces it, or None. The tracer applies them
bottom-up, before it cuts a definition into stages.
"""

from __future__ import annotations

from collections.abc import Callable

from .expression import Node, constant, ordered


def join_one_plus_erf(node: Node) -> Node | None:
    """1 + erf(x): a single function avoids the cancellation where erf(x) is near -1."""
    if node.op == "add":
        for one, other in (node.args, node.args[::-1]):
            if _is_one(one) and other.op == "erf":
                return Node("one_plus_erf", other.args, node.kind)
    return None


def join_reciprocal_root(node: Node) -> Node | None:
    """1 / sqrt(x): devices have one instruction for it."""
    if node.op == "div" and _is_one(node.args[0]) and node.args[1].op == "sqrt":
        return Node("rsqrt", node.args[1].args, node.kind)
    return None


def divide_once_per_row(node: Node) -> Node | None:
    """x / s with one s per row: one division per row, and a multiplication per element."""
    if node.op == "div" and _by_element(node.args[0]) and _by_row(node.args[1]):
        inverse = Node("div", (constant(1.0), node.args[1]))
        return Node("mul", (node.args[0], inverse), node.kind)
    return None


# Only for floats: integer division truncates.
RULES: tuple[Callable[[Node], Node | None], ...] = (
    join_one_plus_erf,
    join_reciprocal_root,
    divide_once_per_row,
)


def rewritten(node: Node) -> Node | None:
    """The result of the first matching rule; None: no rule matches."""
    return next((made for rule in RULES if (made := rule(node)) is not None), None)


def _is_one(node: Node) -> bool:
    return node.op == "constant" and isinstance(node.data, float) and node.data == 1.0


def _by_element(node: Node) -> bool:
    """Whether it has tensors outside of folds."""
    if node.op in ("tensor", "position"):
        return True
    return node.op != "fold" and any(_by_element(arg) for arg in node.args)


def _by_row(node: Node) -> bool:
    return not _by_element(node) and any(n.op == "fold" for n in ordered([node]))
