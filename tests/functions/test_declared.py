"""Functions that operators declare as public: each test row is derived from the declaration, with
the definition as reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from infinicore import _function
from kit import ref
from kit.functions import Case, Run, T, case, runs
from spec.generate.functions import Declared, declared

FLOATS = {"f32": "F32", "f16": "F16", "f64": "F64"}
INTEGERS = {"bool": "BOOL", "i32": "I32", "u8": "U8"}
# Ranges of floats; values are drawn from the first one without poles of the function.
RANGES = ((-3.0, 3.0), (0.2, 6.0), (0.05, 0.9), (1.1, 3.0))
ALL = [each for functional in (False, True) for each in declared(functional)]


class Definition:
    """The result of the operator's definition, in the declared type."""

    def __init__(self, function: Declared) -> None:
        self.operator = function.operator
        self.names = [tensor.name for tensor in self.operator.inputs]
        parameters = function.public.parameters
        self.values = {p.name: float(p.default) for p in parameters if p.name in function.values}

    def compute(self, *arrays: Any, dtype: str = "F64") -> Any:
        keywords: dict[str, Any] = dict(self.values)
        if "dtypes" in self.operator.definition.__code__.co_varnames:
            keywords["dtypes"] = {tensor.name: dtype for tensor in self.operator.tensors}
        with np.errstate(all="ignore"):
            return self.operator.definition(
                **dict(zip(self.names, arrays, strict=True)), **keywords
            )

    def __call__(self, *args: Any) -> Any:
        arrays = [a.array.astype(np.float64) if ref.is_float(a.dtype) else a.array for a in args]
        made = self.compute(*arrays, dtype="F32" if args[0].dtype == ref.float32 else "F64")
        is_test = self.operator.outputs[0].dtypes == ("BOOL",)
        return ref.Tensor(np.asarray(made).astype(ref.bool if is_test else args[0].dtype))


def rows(function: Declared) -> list[Case]:
    """A case with floats and one with integers, if the operator takes them."""
    operator, definition = function.operator, Definition(function)
    first = operator.inputs[0]
    codes = first.dtypes or next(t.dtypes for t in operator.tensors if t.name == first.same_as)
    name = ("nn.functional." if function.public.functional else "") + function.public.name
    found = []
    for kinds in (FLOATS, INTEGERS):
        drawn = " ".join(kind for kind, code in kinds.items() if code in codes)
        if not drawn:
            continue
        low, high = (1, 6) if kinds is INTEGERS else next(filter(fits(definition), RANGES))
        tensors = [T(3, 5, low=low, high=high), T(5, low=low, high=high)][: len(function.inputs)]
        found.append(case(name, *tensors, kinds=drawn, reference=definition))
    return found


def fits(definition: Definition) -> Any:
    def has_no_poles(bounds: tuple[float, float]) -> bool:
        grid = np.linspace(*bounds, 4001)
        made = np.asarray(definition.compute(*[grid] * len(definition.names)))
        return bool(np.isfinite(made).all() and (np.abs(made) < 50).all())

    return has_no_poles


def is_elementwise(function: Declared) -> bool:
    tensors = function.operator.tensors
    return all(each.shapes == (("*S",),) for each in tensors) and not function.public.result


CASES = [row for each in ALL if is_elementwise(each) for row in rows(each)]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


def test_most_functions_are_elementwise() -> None:
    assert len(CASES) > 80


@pytest.mark.parametrize("function", ALL, ids=lambda each: each.public.name)
def test_help_has_an_example(function: Declared) -> None:
    assert ">>> " in _function.FUNCTIONS[function.public.name].__doc__
