"""NaN, infinities, signed zeros, denormals, the largest numbers, and integer overflow.

With such inputs an intermediate result may leave the range of F32, in which 16- and 32-bit floats
are computed: the definition's result in F32 is correct as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kit import Maker
from kit.drawing import Draw, NoCaseError, Rules
from kit.operator_runs import Trial
from kit.reference import compare, evaluate, fitted, tolerances
from spec.operators import REGISTRY
from spec.operators.language.numeric import FORMATS, epsilon

from .test_operators import SUPPORTED, dtypes_of, rules_of

POINTWISE = [o for o in SUPPORTED if o.family == "elementwise" and not o.kernel]
FLOAT_NAMES = ("F16", "BF16", "F32", "F64")


def special(dtype: str) -> list[float]:
    digits, lowest, largest = FORMATS.get(dtype, (53, -1022, float(np.finfo(np.float64).max)))
    small = 2.0**lowest
    tiny = 2.0 ** (lowest - digits + 1)
    # F64 has no wider type in which to compute products of its largest numbers.
    most = [largest] if dtype != "F64" else [1e100]
    numbers = [0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 40.0, 100.0, small, 3 * tiny, tiny, *most, np.inf]
    return [*numbers, *(-x for x in numbers), np.nan]


def compare_both(draw: Draw, inputs: Any, got: Any, expected: Any) -> None:
    with np.errstate(all="ignore"):
        single = {k: x.astype(np.float32) for k, x in inputs.items() if x.dtype == np.float64}
        others = evaluate(draw, {**inputs, **single})
        allowed = tolerances(draw, inputs, list(expected.values()), list(expected))
    for (name, wanted), other, limit in zip(expected.items(), others, allowed, strict=True):
        dtype, result = draw.dtypes[name], got[name]
        if dtype != "F64":
            other = fitted(name, other, result.shape).astype(np.float64)
            with np.errstate(all="ignore"):
                near = np.abs(result - other) <= np.abs(other) * max(1e-4, epsilon(dtype))
            same = near | (result == other) | (np.isnan(result) & np.isnan(other))
            wanted = np.where(same, result, fitted(name, wanted, result.shape))
        compare(name, dtype, result, wanted, limit)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(o.name, dtype) for o in POINTWISE for dtype in dtypes_of(o) if dtype in FLOAT_NAMES],
)
def test_special_floats(make: Maker, name: str, dtype: str) -> None:
    operator = REGISTRY[name]
    rules = rules_of(operator)
    numbers = np.array(special(dtype))
    floats = [t.name for t in operator.inputs if t.name not in rules.values]
    count = numbers.size ** min(len(floats), 2)
    grids = [g.reshape(-1) for g in np.meshgrid(*[numbers] * min(len(floats), 2))]
    values = {
        tensor: lambda draw, shape, i=i: np.resize(grids[i % len(grids)], shape)
        for i, tensor in enumerate(floats)
    }
    chosen = Rules(
        symbols={**rules.symbols, "*S": ((count,),)},
        attributes=rules.attributes,
        scalars=rules.scalars,
        dtypes=rules.dtypes,
        values={**rules.values, **values},
        absent=rules.absent,
        noise=rules.noise,
        compare=compare_both,
    )
    for seed in range(2):
        try:
            draw = Draw(operator, chosen, dtype, "usual", seed)
        except NoCaseError:
            continue
        Trial(make, draw).four_ways()


@pytest.mark.parametrize(
    ("name", "dtype"),
    # softsign computes integers as floats
    [
        (o.name, dtype)
        for o in POINTWISE
        for dtype in dtypes_of(o)
        if dtype[0] in "IU" and o.name != "softsign"
    ],
)
def test_integers_wrap(make: Maker, name: str, dtype: str) -> None:
    operator = REGISTRY[name]
    bits = int(dtype[1:])
    low, high = (0, 2**bits - 1) if dtype[0] == "U" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    numbers = np.array([low, low + 1, high, high - 1, 1, 2, 3, 7], object)
    storage = np.dtype({"I": "int", "U": "uint"}[dtype[0]] + dtype[1:])
    first, second = (g.reshape(-1).astype(storage) for g in np.meshgrid(numbers, numbers))
    grids = (first, second)
    rules = Rules(
        symbols={"*S": ((first.size,),)},
        values={
            tensor.name: lambda draw, shape, i=i: np.resize(grids[i % 2], shape)
            for i, tensor in enumerate(operator.inputs)
        },
    )
    Trial(make, Draw(operator, rules, dtype, "usual", 0)).four_ways()
