"""Operators compared with their definitions, evaluated in float64 with only Python's `math`."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from operator import mul
from typing import Any, NamedTuple

import infinicore
from infinicore.cli.demo.rows import Row, Setting
from infinicore.nn import functional as F  # noqa: N812

ROWS, COLUMNS, INNER = 16, 64, 96
EPSILON = 1e-6

Matrix = list[list[float]]


class Type(NamedTuple):
    name: str
    digits: int  # bits of the significand, including the implicit one
    smallest: int  # the exponent of the smallest normal number
    limit: float  # the largest error in ulps that counts as correct


# float32 results also have the errors of intermediate results: softmax, for instance, rounds x -
# max(x), which exp magnifies. Narrower types are computed in float32.
TYPES = (
    Type("float32", 24, -126, 16.0),
    Type("float16", 11, -14, 1.0),
    Type("bfloat16", 8, -126, 1.0),
)


class Case(NamedTuple):
    name: str
    run: Callable[..., Any]
    definition: Callable[..., Matrix]
    shapes: Sequence[tuple[int, ...]]
    # Where terms of both signs cancel, an error is measured against the sum of their absolute
    # values; None: against the result.
    scale: Callable[..., Matrix] | None = None


def each(function: Callable[[float], float]) -> Callable[[Matrix], Matrix]:
    return lambda x: [[function(value) for value in row] for row in x]


def gelu(x: float) -> float:
    return 0.5 * x * math.erfc(-x * math.sqrt(0.5))


def gelu_terms(x: float) -> float:
    return 0.5 * abs(x) * (1.0 + math.erf(abs(x) * math.sqrt(0.5)))


def silu(x: float) -> float:
    return x / (1.0 + math.exp(-x))


def softmax(x: Matrix) -> Matrix:
    powers = [[math.exp(value - max(row)) for value in row] for row in x]
    return [[value / math.fsum(row) for value in row] for row in powers]


def rms_norm(x: Matrix, weight: list[float]) -> Matrix:
    roots = [math.sqrt(math.fsum(v * v for v in row) / len(row) + EPSILON) for row in x]
    return [
        [v * w / root for v, w in zip(row, weight, strict=True)]
        for row, root in zip(x, roots, strict=True)
    ]


def matmul(a: Matrix, b: Matrix) -> Matrix:
    columns = list(zip(*b, strict=True))
    return [[math.fsum(map(mul, row, column)) for column in columns] for row in a]


def matmul_terms(a: Matrix, b: Matrix) -> Matrix:
    return matmul(each(abs)(a), each(abs)(b))


ONE = ((ROWS, COLUMNS),)
CASES = (
    Case("exp", lambda x: infinicore.exp(x), each(math.exp), ONE),
    Case("tanh", lambda x: infinicore.tanh(x), each(math.tanh), ONE),
    Case("gelu", lambda x: F.gelu(x), each(gelu), ONE, scale=each(gelu_terms)),
    Case("silu", lambda x: F.silu(x), each(silu), ONE),
    Case("softmax", lambda x: F.softmax(x, -1), softmax, ONE),
    Case(
        "rms_norm",
        lambda x, w: F.rms_norm(x, [COLUMNS], w, EPSILON),
        rms_norm,
        ((ROWS, COLUMNS), (COLUMNS,)),
    ),
    Case(
        "matmul",
        lambda a, b: infinicore.matmul(a, b),
        matmul,
        ((ROWS, INNER), (INNER, COLUMNS)),
        scale=matmul_terms,
    ),
)


def show(setting: Setting) -> list[Row]:
    return [measured(kind, setting.step) for kind in TYPES]


def measured(kind: Type, step: Callable[[str], None]) -> Row:
    worst, where, failed = 0.0, "", []
    for case in CASES:
        step(f"{case.name}, {kind.name}")
        error = worst_error(case, kind)
        if error > worst:
            worst, where = error, case.name
        if error > kind.limit:
            failed.append(f"{case.name} is off by {error:.3g} ulp")
    note = "; ".join(failed) if failed else f"worst: {where}"
    what = f"{kind.name}, {len(CASES)} operators"
    return Row(what, not failed, f"{worst:.2f} ulp", worst, note)


def worst_error(case: Case, kind: Type) -> float:
    """The largest error of a result in ulps: distances between neighbouring numbers."""
    draw = random.Random(case.name)
    tensors = []
    for shape in case.shapes:
        values = [draw.gauss(0.0, 1.0) for _ in range(math.prod(shape))]
        wide = infinicore.tensor(values, dtype=infinicore.float32).view(*shape)
        tensors.append(wide.to(getattr(infinicore, kind.name)))
    inputs = [tensor.to(infinicore.float64).tolist() for tensor in tensors]  # as they were rounded
    result = case.run(*tensors).to(infinicore.float64).tolist()
    expected = case.definition(*inputs)
    scales = case.scale(*inputs) if case.scale else expected
    return max(
        error_of(got, want, ulp(scale, kind))
        for rows in zip(result, expected, scales, strict=True)
        for got, want, scale in zip(*rows, strict=True)
    )


def error_of(got: float, want: float, unit: float) -> float:
    error = abs(got - want) / unit
    return error if error == error else math.inf  # NaN is the largest possible error


def ulp(value: float, kind: Type) -> float:
    """The distance between adjacent numbers of a type near a value."""
    exponent = math.frexp(value)[1] - 1 if value else kind.smallest
    return math.ldexp(1.0, max(exponent, kind.smallest) - kind.digits + 1)
