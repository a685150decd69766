"""Indices, tokens and pairs in numbers for which back ends use other algorithms than for few, with
many duplicates: the last one wins, and sums are deterministic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kit import Maker
from kit.drawing import Draw
from kit.operator_runs import SUCCESS, Trial
from spec.operators import REGISTRY

from .test_operators import rules_of

Shape = tuple[int, ...]


def numbers(low: int, high: int) -> Callable[[Draw, Shape], Any]:
    return lambda draw, shape: draw.integers(low, high, shape)


# Operator, dtype, and replacements of its usual rules.
CASES: list[tuple[str, str, dict[str, Any]]] = []
for sizes, high in (((20000,), 20000), ((20000,), 7), ((3, 6000), 6000), ((6000, 3), 70)):
    seen = {"*S": (sizes,), "*U": lambda draw: draw["*S"]}
    at: dict[str, Any] = {"symbols": seen, "attributes": {"dim": (int(np.argmax(sizes)),)}}
    values = {"index": numbers(-2, high + 2)}
    CASES += [
        ("scatter_add", dtype, {**at, "values": values}) for dtype in ("BF16", "F32", "I8", "I64")
    ]
    reduced = {**at["attributes"], "reduce": (1, 2, 3), "include_self": (0, 1)}
    CASES.append(("scatter_reduce", "F64", {**at, "attributes": reduced, "values": values}))
    largest = {**reduced, "reduce": (3, 4)}
    CASES.append(("scatter_reduce", "F16", {**at, "attributes": largest, "values": values}))
    assigned = {"axis": at["attributes"]["dim"], "reduction": (0,)}
    values = {"indices": numbers(-2, high + 2)}
    CASES.append(("scatter", "F16", {**at, "attributes": assigned, "values": values}))
for name in ("index_add", "index_copy"):
    at = {"symbols": {"*S": ((300, 5),), "N": (9000,), "*U": lambda draw: draw["*S"]}}
    more = {"attributes": {"dim": (0,)}, "values": {"index": numbers(-300, 303)}}
    CASES.append((name, "F32", {**at, **more}))
CASES += [
    (
        "paged_caching",
        "F16",
        {
            "symbols": {"N": (9,), "R": (16,), "H": (2,), "D": (8,), "E": (24,), "T": (2500,)},
            "values": {"slot_mapping": numbers(-3, 150)},
        },
    ),
    *(
        (
            "moe_align",
            "I32",
            {
                "symbols": {"T": (tokens,), "K": (4,), "S": (1,), "B": (1,)},
                "attributes": {"num_experts": (experts,), "block_size": (16,)},
                "values": {"topk_ids": numbers(-1, experts + 1)},
            },
        )
        for tokens, experts in ((5000, 40), (700, 600), (4000, 500))
    ),
    ("prepare_moe_input", "I32", {"symbols": {"T": (5000,), "K": (4,)}}),
    ("random_sample", "I32", {"symbols": {"V": (20000,), "B": (1,)}}),
]


@pytest.mark.parametrize(("name", "dtype", "rules"), CASES)
def test_many(make: Maker, name: str, dtype: str, rules: dict[str, Any]) -> None:
    operator = REGISTRY[name]
    usual = rules_of(operator)
    rules = {field: {**getattr(usual, field), **given} for field, given in rules.items()}
    for seed in range(2):
        draw = Draw(operator, replace(usual, **rules), dtype, "usual", seed)
        trial = Trial(make, draw)
        assert trial.described.status == SUCCESS, make.rt.message()
        values = trial.data(seed)
        expected = trial.expect(values)
        found = []
        for _ in range(2):
            trial.load(values)
            trial.run(None)
            make.rt.DeviceSynchronize()
            trial.check(expected, values)
            results = [trial.tensors[tensor.name] for tensor in operator.outputs]
            found.append([result.read() for result in results if result is not None])
        for first, second in zip(*found, strict=True):
            assert np.array_equal(first, second), "another result the second time"
