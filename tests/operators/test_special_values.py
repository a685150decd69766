"""NaN, infinities, signed zeros, denormals, the largest numbers, and integers that wrap."""

from __future__ import annotations

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

from kit import Maker  # noqa: E402
from kit.drawing import Draw, NoCaseError, Rules  # noqa: E402
from kit.operator_runs import Trial  # noqa: E402
from spec.operators import REGISTRY  # noqa: E402
from spec.operators.numeric import FORMATS  # noqa: E402

from .test_operators import SUPPORTED, dtypes_of, rules_of  # noqa: E402

POINTWISE = [o for o in SUPPORTED if o.module in ("elementwise", "activation") and not o.kernel]
FLOAT_NAMES = ("F16", "BF16", "F32", "F64")


def special(dtype: str) -> list[float]:
    digits, lowest, largest = FORMATS.get(dtype, (53, -1022, float(np.finfo(np.float64).max)))
    small = 2.0**lowest
    tiny = 2.0 ** (lowest - digits + 1)
    numbers = [0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 40.0, 100.0, small, 3 * tiny, tiny, largest, np.inf]
    return [*numbers, *(-x for x in numbers), np.nan]


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
    )
    for seed in range(2):
        try:
            draw = Draw(operator, chosen, dtype, "usual", seed)
        except NoCaseError:
            continue
        Trial(make, draw).four_ways()


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(o.name, dtype) for o in POINTWISE for dtype in dtypes_of(o) if dtype[0] in "IU"],
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
