"""Shared by the tests of definitions: values, calling a definition, comparing."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np

from kit.requirements import need

torch = need("torch")
F = torch.nn.functional

from spec.operators import OPERATORS, REGISTRY  # noqa: E402
from spec.operators.language.trace import programs  # noqa: E402

SPECIAL = (0, 1, -1, 0.5, -2, 3, 40, -40, 700, -800, 1e-9, 1e300, -1e300, 5e-324, math.pi)
WILD = (*SPECIAL, -0.0, math.nan, math.inf, -math.inf)
checked: set[str] = set()


def values(*sizes: int, seed: int = 0, scale: float = 2.0) -> Any:
    return np.random.default_rng([seed, *sizes]).normal(size=sizes) * scale


def pairs(numbers: tuple[float, ...] = WILD) -> list[Any]:
    """All pairs of special values, as two arrays."""
    return [grid.reshape(-1) for grid in np.meshgrid(*[np.array(numbers, float)] * 2)]


def call(name: str, *tensors: Any, **attributes: Any) -> list[Any]:
    """The results of the definition, as a list."""
    checked.add(name)
    operator = REGISTRY[name]
    names = [tensor.name for tensor in operator.inputs]
    given = dict(zip(names, tensors, strict=True))
    wanted = set(inspect.signature(operator.definition).parameters)
    assert wanted <= {*given, *attributes}, wanted
    with np.errstate(all="ignore"):
        result = operator.definition(**given, **attributes)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def same(ours: Any, theirs: Any, rtol: float = 1e-12, atol: float = 0.0) -> None:
    theirs = np.asarray(theirs)
    assert ours.size == theirs.size
    np.testing.assert_allclose(ours.reshape(theirs.shape), theirs, rtol=rtol, atol=atol)


def tensors(arrays: Any) -> list[Any]:
    return [None if array is None else torch.from_numpy(np.array(array)) for array in arrays]


def uncompared(*modules: str) -> set[str]:
    """Operators of these modules that no test has called, or that have no way to run."""
    mine = [operator for operator in OPERATORS if operator.module in modules]
    lost = {operator.name for operator in mine if bool(programs(operator)) == operator.kernel}
    return lost | {operator.name for operator in mine} - checked
