"""Every operator, in every dtype and layout, against its definition: without a stream, on a stream,
captured, replayed with new data.

Cases come from the declarations, with additional rules in cases/.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from kit import Maker
from kit import operator_factors as factors
from kit.combinations import combinations
from kit.drawing import Draw, NoCaseError, Rules
from kit.layouts import contiguous, strided, transposed
from kit.operator_factors import LAYOUTS, SIZES, dtypes_of
from kit.operator_runs import Trial
from spec.operators import OPERATORS, REGISTRY
from spec.operators.language.model import Operator

from .cases import all_cases

CASES = all_cases()


def rules_of(operator: Operator) -> Rules:
    return CASES.get(operator.name, Rules())


def applies(operator: Operator, layout: str, size: str) -> bool:
    return factors.applies(operator, rules_of(operator), layout, size)


def in_place_pairs(operator: Operator) -> Iterator[tuple[str, str]]:
    """Elementwise operators may write to any input of the same shape and dtype; others declare
    it."""
    yield from operator.in_place.items()
    if operator.family != "elementwise":
        return
    for out in operator.outputs:
        for tensor in operator.inputs:
            same_dtype = tensor.same_as == out.name or (out.same_as and out.same_as == tensor.name)
            if tensor.shapes == out.shapes and same_dtype and not tensor.optional:
                yield out.name, tensor.name


SUPPORTED = [operator for operator in OPERATORS if not operator.unsupported]


def operator_cases(operator: Operator) -> list[Any]:
    return combinations(
        dtypes_of(operator),
        tuple(LAYOUTS),
        SIZES,
        allowed=lambda _, layout, size: applies(operator, layout, size),
        first=(operator.name,),
    )


@pytest.mark.parametrize(
    ("name", "dtype", "layout", "size"),
    [case for operator in SUPPORTED for case in operator_cases(operator)],
)
def test_operator(make: Maker, name: str, dtype: str, layout: str, size: str) -> None:
    inputs, outputs = LAYOUTS[layout]
    operator = REGISTRY[name]
    for seed in range(1 if size == "large" else 2):
        try:
            draw = Draw(operator, rules_of(operator), dtype, size, seed)
        except NoCaseError:
            if seed == 0 and size == "usual":
                raise
            continue
        trial = Trial(make, draw, inputs, outputs)
        try:
            trial.four_ways()
        except AssertionError as error:
            skip_refused(make, error)
            raise AssertionError(f"{error}\n{describe(draw)}") from None


def skip_refused(make: Maker, error: AssertionError) -> None:
    """A back end that implements an operator by its vendor's library reports the supported
    cases."""
    if "partial-operators" in make.rt.tags and REFUSED.search(str(error)):
        pytest.skip("not taken by the vendor's library")


REFUSED = re.compile(r"NOT_IMPLEMENTED: .* takes ")


@pytest.mark.parametrize(
    ("name", "dtype", "written", "read"),
    [
        (operator.name, dtype, *pair)
        for operator in SUPPORTED
        for dtype in dtypes_of(operator)
        for pair in in_place_pairs(operator)
    ],
)
def test_in_place(make: Maker, name: str, dtype: str, written: str, read: str) -> None:
    operator = REGISTRY[name]
    for layout in (contiguous, strided, transposed):
        draw = Draw(operator, rules_of(operator), dtype, "usual", 0)
        Trial(make, draw, layout, layout, (written, read)).four_ways()


def twins(operator: Operator) -> Iterator[tuple[str, str]]:
    """Two inputs of the same shape and dtype."""
    if operator.family in ("elementwise", "matmul"):
        inputs = [tensor for tensor in operator.inputs if not tensor.written]
        for first, second in pairwise(inputs):
            if first.shapes == second.shapes and first.same_as == second.same_as != "":
                yield second.name, first.name


@pytest.mark.parametrize(
    ("name", "dtype", "second", "first"),
    [
        (operator.name, dtype, *pair)
        for operator in SUPPORTED
        for dtype in dtypes_of(operator)
        for pair in twins(operator)
    ],
)
def test_one_tensor_twice(make: Maker, name: str, dtype: str, second: str, first: str) -> None:
    operator = REGISTRY[name]
    for layout in (contiguous, transposed):
        draw = Draw(operator, rules_of(operator), dtype, "usual", 1)
        if draw.shapes[second] == draw.shapes[first]:
            Trial(make, draw, layout, layout, shared=(second, first)).four_ways()


def describe(draw: Draw) -> str:
    shown = {
        "shapes": draw.shapes,
        "dtypes": draw.dtypes,
        "attributes": draw.attributes,
        "scalars": draw.scalars,
    }
    return "\n".join(f"  {name}: {value}" for name, value in shown.items() if value)
