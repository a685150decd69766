"""Levels 4 and 5: operators against their definitions in float64.

A case is an operator, an element type, a layout and a size. It runs immediately, in a stream,
captured, and replayed with new data, between guard bytes. Both the expected values and the
tolerance are derived from the definition (tests/kit/reference.py).
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from cases import all_cases

from infinicore.conformance.cases import Case, Refused
from kit.drawing import FLOATS, Draw, NoCaseError, Rules
from kit.operator_factors import LAYOUTS, SIZES, applies, dtypes_of
from kit.operator_runs import SUCCESS, Trial
from kit.pairwise import pairwise
from kit.reference import fitted
from spec.operators import OPERATORS
from spec.operators.language.model import REGISTRY, Operator
from spec.operators.language.numeric import FORMATS
from spec.operators.transformer import TRANSFORMER

RULES = all_cases()
MODEL_DTYPES = {"F16", "BF16", "F32"}
REFUSALS = ("NOT_IMPLEMENTED", "NOT_SUPPORTED", "DEVICE_TYPE_NOT", "DEVICE_ARCHITECTURE")


def level_of(name: str, dtype: str) -> int:
    """Level 4 has the types used for models; for operators on integers, all types."""
    if name not in TRANSFORMER:
        return 5
    dtypes = dtypes_of(REGISTRY[name])
    return 4 if dtype in MODEL_DTYPES or not MODEL_DTYPES.intersection(dtypes) else 5


def cases(level: int, exhaustive: bool) -> list[Case]:
    found = []
    for operator in OPERATORS:
        if operator.unsupported or (level < 5 and operator.name not in TRANSFORMER):
            continue
        for dtype, layout, size in _combinations(operator, exhaustive):
            at = level_of(operator.name, dtype)
            if at <= level:
                found.append(Case(f"op/{operator.name}/{dtype}/{layout}/{size}", at))
    return found


def _combinations(operator: Operator, exhaustive: bool) -> Any:
    rules = RULES.get(operator.name, Rules())
    rows = tuple(
        row
        for row in itertools.product(dtypes_of(operator), LAYOUTS, SIZES)
        if applies(operator, rules, row[1], row[2])
    )
    return rows if exhaustive else pairwise(rows)


def find(id: str) -> Case:
    _, name, dtype, layout, size = id.split("/")
    return Case(
        id,
        level_of(name, dtype),
        body=lambda make: run(make, name, dtype, layout, size),
    )


def run(make: Any, name: str, dtype: str, layout: str, size: str) -> dict[str, Any]:
    operator = REGISTRY[name]
    draw = _draw(operator, dtype, layout, size)
    if draw is None:
        return {"none": True}  # the declaration allows no such case
    inputs, outputs = LAYOUTS[layout]
    trial = Measured(make, draw, inputs, outputs)
    status = trial.described.status
    if status != SUCCESS and any(word in status for word in REFUSALS):
        raise Refused(f"{status}: {make.rt.message()}")
    try:
        trial.four_ways()
    except AssertionError as error:
        told = AssertionError(f"{error}; {describe(draw)}")
        told.data = {"ulp": trial.worst}  # type: ignore[attr-defined]
        raise told from None
    return {"ulp": trial.worst}


def _draw(operator: Operator, dtype: str, layout: str, size: str) -> Draw | None:
    rules = RULES.get(operator.name, Rules())
    seed = list(LAYOUTS).index(layout) % 2  # optional tensors are absent in every second case
    for each in (seed, 1 - seed):
        try:
            return Draw(operator, rules, dtype, size, each)
        except NoCaseError:
            continue
    return None


def describe(draw: Draw) -> str:
    shown = {"shapes": draw.shapes, "attributes": draw.attributes, "scalars": draw.scalars}
    return ", ".join(f"{name} {value}" for name, value in shown.items() if value)


class Measured(Trial):  # type: ignore[misc, unused-ignore] # known when the suite is installed
    """Keeps the largest error of all results, in ulps of their types."""

    worst: float | None = None

    def expect(self, values: Any) -> Any:
        """The definition is evaluated in float64, whose own rounding errors matter for F64
        results."""
        names, expected, allowed = super().expect(values)
        for index, name in enumerate(names):
            own = self.extra[name] if name in self.extra else self.tensors[name]
            if allowed[index] is not None and getattr(own, "dtype", "") == "F64":
                allowed[index] = 2 * allowed[index]
        return names, expected, allowed

    def check(self, reference: Any, values: Any) -> None:
        if self.draw.rules.compare is None:
            for name, expected in zip(reference[0], reference[1], strict=True):
                placed = self.extra[name] if name in self.extra else self.tensors[name]
                if placed is not None and not isinstance(placed, list):
                    self._note(name, placed, expected)
        super().check(reference, values)

    def _note(self, name: str, placed: Any, expected: Any) -> None:
        if placed.dtype not in FLOATS or 0 in placed.layout.shape:
            return
        elementwise = self.operator.family == "elementwise"
        got = placed.values()
        error = ulps(placed.dtype, got, fitted(name, expected, got.shape), elementwise)
        self.worst = error if self.worst is None else max(self.worst, error)


def ulps(dtype: str, got: Any, expected: Any, elementwise: bool) -> float:
    """The largest error in ulps. An ulp is taken at the magnitude of the element; for operators
    that sum, at the root mean square of the result if that is larger, since sums may cancel."""
    got, expected = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    usable = np.isfinite(got) & np.isfinite(expected)
    if not usable.any():
        return 0.0
    got, expected = got[usable], expected[usable]
    digits, lowest = FORMATS[dtype][:2] if dtype in FORMATS else (53, -1022)
    size = np.abs(expected)
    if not elementwise:
        with np.errstate(over="ignore"):
            size = np.maximum(size, np.sqrt(np.mean(size * size)))
    exponent = np.frexp(size)[1] - 1
    unit = np.ldexp(1.0, np.maximum(exponent, lowest) - digits + 1)
    worst = float(np.max(np.abs(got - expected) / unit))
    return round(worst, 3) if math.isfinite(worst) else 1e30
