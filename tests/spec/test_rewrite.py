"""The rules that rewrite expressions, one by one: matches, non-matches, and unchanged values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from spec.operators.language.expression import FUNCTIONS, Node, constant, erf, sqrt
from spec.operators.language.folds import fold_sum
from spec.operators.language.rewrite import (
    RULES,
    divide_once_per_row,
    join_one_plus_erf,
    join_reciprocal_root,
    rewritten,
)


def tensor(name: str = "x") -> Node:
    return Node("tensor", (), "value", (name, "plain", 0))


def value(node: Node, given: dict[str, Any]) -> Any:
    """A tree with the indices of its tensors."""
    if node.op == "constant":
        return node.data
    if node.op == "tensor":
        return given[node.data[0]]
    if node.op == "fold":
        return value(node.args[0], given).sum()
    return FUNCTIONS[node.op].compute(*(value(arg, given) for arg in node.args))


Rule = Callable[[Node], Node | None]
x, y = tensor(), tensor("y")
MATCHED: list[tuple[Rule, Node, str]] = [
    (join_one_plus_erf, 1.0 + erf(x), "one_plus_erf"),
    (join_one_plus_erf, erf(x) + 1.0, "one_plus_erf"),
    (join_reciprocal_root, 1.0 / sqrt(x), "rsqrt"),
    (divide_once_per_row, x / fold_sum(x), "mul"),
    (divide_once_per_row, (x + y) / sqrt(fold_sum(y)), "mul"),
]
LEFT_ALONE: list[tuple[Rule, Node]] = [
    (join_one_plus_erf, 2.0 + erf(x)),
    (join_one_plus_erf, 1.0 - erf(x)),
    (join_one_plus_erf, y + erf(x)),
    (join_one_plus_erf, 1 + erf(x)),  # an integer: the other operand determines the type
    (join_reciprocal_root, sqrt(x) / constant(1.0)),
    (join_reciprocal_root, 2.0 / sqrt(x)),
    (join_reciprocal_root, y / sqrt(x)),
    (divide_once_per_row, x / y),
    (divide_once_per_row, fold_sum(x) / fold_sum(y)),
    (divide_once_per_row, fold_sum(x) / x),
]


def case_name(given: Any) -> str:
    return str(getattr(given, "__name__", given))


def test_every_rule_has_cases() -> None:
    assert {rule for rule, *_ in MATCHED} == {rule for rule, _ in LEFT_ALONE} == set(RULES)


@pytest.mark.parametrize(("rule", "node", "op"), MATCHED, ids=case_name)
def test_matched(rule: Rule, node: Node, op: str) -> None:
    made = rule(node)
    assert made is not None
    assert made.op == op
    first = rewritten(node)
    assert first is not None
    assert first.op == op
    numbers = np.random.default_rng(0).uniform(0.1, 3, (2, 50))
    given = dict(zip("xy", numbers, strict=True))
    np.testing.assert_allclose(value(made, given), value(node, given), rtol=1e-14)


@pytest.mark.parametrize(("rule", "node"), LEFT_ALONE, ids=case_name)
def test_left_alone(rule: Rule, node: Node) -> None:
    assert rule(node) is None
