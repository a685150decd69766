"""infinicore::op: every function is compiled and linked with its declared types; those with an
operator behind them are called on cases of its tests, eagerly and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from kit import Maker
from kit.drawing import Draw
from kit.layouts import contiguous, transposed
from kit.operator_runs import Trial
from kit.operators import Placed
from spec.cpp.mapping import BY_HAND, REFUSED
from spec.generate.cpp_operator_calls import Call, _same_work
from spec.operators.language.model import Operator
from tests.operators.test_operators import dtypes_of, rules_of

from . import cpp_calls
from .cpp_calls import FUNCTIONS, Caller, Entry

pytestmark = pytest.mark.requires("c++")

REDUCTIONS = ("none", "mean", "sum")


def test_all_are_declared(call: Caller) -> None:
    assert len(FUNCTIONS) >= 460


def derived() -> list[Any]:
    found = []
    for entry in FUNCTIONS:
        function = entry.function
        if function.full_name in BY_HAND or function.full_name in REFUSED:
            continue
        if _same_work(function, entry.header):
            continue
        mapped = Call(function, entry.header)
        operator = mapped.operator
        is_in_place = len({*mapped.tensors.values()}) < len(mapped.tensors)  # test_cpp_composites
        if not operator.unsupported and not operator.host_result and not is_in_place:
            found.append(pytest.param(entry, id=f"{function.full_name}-{entry.number}"))
    return found


def dtype_for(operator: Operator) -> str:
    dtypes = dtypes_of(operator)
    return "F32" if "F32" in dtypes else dtypes[0]


def as_tensor(placed: Placed | None) -> Any:
    if placed is None:
        return None
    layout = placed.layout
    return cpp_calls.tensor(placed.address, placed.dtype, layout.shape, layout.strides)


def argument(call: Call, trial: Trial, name: str) -> Any:
    """The value of a function's argument in a case of its operator."""
    source = call.sources[name]
    draw = trial.draw
    found = trial.tensors.get(source, trial.extra.get(source))
    if isinstance(found, list):
        return [as_tensor(each) for each in found]
    if isinstance(found, Placed) or source in trial.tensors:
        return as_tensor(found)
    value = draw.attributes.get(source, draw.scalars.get(source))
    wanted = next(a for a in call.function.arguments if a.name == name)
    if wanted.plain == "std::string" and not isinstance(value, str):
        return REDUCTIONS[int(value)]
    if call.operator.name == "interpolate" and source == "size" and value is not None:
        return list(draw.shapes["y"][2:])  # the C function derives these from the result
    return value if value is not None else ()


@pytest.mark.parametrize("recorded", [False, True], ids=["eager", "recorded"])
@pytest.mark.parametrize("entry", derived())
def test_against_definition(make: Maker, call: Caller, entry: Entry, recorded: bool) -> None:
    mapped = Call(entry.function, entry.header)
    layouts = (contiguous, transposed)
    if all(tensor.layout == "dense" for tensor in mapped.operator.tensors):
        layouts = layouts[:1]
    for layout in layouts:
        for draw in draws(mapped):
            trial = Trial(make, draw, layout, layout)
            values = trial.data(1)
            reference = trial.expect(values)
            trial.load(values)
            arguments = [argument(mapped, trial, a.name) for a in entry.function.arguments]
            results = [as_tensor(trial.tensors[name]) for name in mapped.results]
            try:
                call(entry, arguments, results, recorded)
            except RuntimeError as error:
                # The operator takes results of several types or shapes, the function makes one.
                if str(error).startswith("the result is"):
                    continue
                raise
            trial.check(reference, values)
            break
        else:
            pytest.fail(f"{entry.function.full_name}: no case has the results that it makes")


def draws(mapped: Call) -> Iterator[Draw]:
    """Cases in which everything that the function has no argument for is absent."""
    operator = mapped.operator
    given = {*mapped.sources.values(), *mapped.results}
    optional = {t.name for t in operator.tensors if t.optional and t.name not in given}
    needed = {mapped.sources[name] for name in mapped.needed()}
    needed &= {t.name for t in operator.tensors if t.optional}
    for rules in (rules_of(operator), replace(rules_of(operator), absent=(optional,))):
        for seed in range(40):
            draw = Draw(operator, rules, dtype_for(operator), "usual", seed)
            present = {name for name, shape in draw.shapes.items() if shape is not None}
            if draw.run_number == 0 and needed <= present <= given:
                yield draw
