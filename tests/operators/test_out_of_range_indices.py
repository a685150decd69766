"""Out-of-range indices, lengths and slots: no operator may access memory outside its tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kit import Maker
from kit.drawing import FLOATS, Draw
from kit.operator_runs import SUCCESS, Trial
from spec.operators import REGISTRY
from spec.operators.language.model import Operator

from .test_operators import SUPPORTED, dtypes_of, rules_of

EXTREMES = (0, 1, -1, 2, 7, 63, 64, 1000, -1000, 2**31 - 1, -(2**31), 2**62, -(2**63), 2**63 - 1)


def is_wild(dtype: str) -> bool:
    return dtype in ("I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64")


def has_indices(operator: Operator) -> bool:
    dtypes = [set(tensor.dtypes) for tensor in operator.inputs if not tensor.written]
    main = set(dtypes_of(operator))
    return any(d and all(map(is_wild, d)) for d in dtypes) and bool(main & {*FLOATS, "I32", "U8"})


def wild(rng: Any, dtype: str, shape: Any) -> Any:
    info = np.iinfo(np.dtype({"I": "int", "U": "uint"}[dtype[0]] + dtype[1:]))
    fitting = [x for x in EXTREMES if info.min <= x <= info.max]
    return np.array(fitting, object)[rng.integers(0, len(fitting), shape)].astype(info.dtype)


@pytest.mark.parametrize("name", [operator.name for operator in SUPPORTED if has_indices(operator)])
def test_wild_indices(make: Maker, name: str) -> None:
    operator = REGISTRY[name]
    if not rules_of(operator).kinds:
        pytest.skip("its results are in host memory")
    rt = make.rt
    for seed in range(6):
        draw = Draw(operator, rules_of(operator), dtypes_of(operator)[-1], "usual", seed)
        trial = Trial(make, draw)
        assert trial.described.status == SUCCESS, rt.message()
        values = trial.data(seed)
        for tensor in operator.inputs:
            if tensor.name in values and is_wild(draw.dtypes[tensor.name]) and not tensor.written:
                shape = np.shape(values[tensor.name])
                values[tensor.name] = wild(draw.rng, draw.dtypes[tensor.name], shape)
        trial.load(values)
        trial.run(None)
        rt.DeviceSynchronize()
        for tensor in operator.tensors:
            placed = trial.tensors[tensor.name]
            if placed is not None and not isinstance(placed, list):
                placed.read() if tensor.written else placed.assert_unchanged()
