"""The references of kit/ref against torch, on the arguments of all cases of this folder."""

from __future__ import annotations

import importlib
import operator
from pathlib import Path
from typing import Any

import pytest

from kit import ref
from kit.functions import Run, runs
from kit.requirements import need

from .test_declared import Definition

torch = need("torch")


# Declared functions that differ from torch's of the same name, which return one bool, or floats.
UNLIKE = {"equal-f32", "equal-f64", "equal-bool", "equal-u8", "nn.functional.softsign-i32"}


def all_runs() -> list[Any]:
    """Every table; of each case the first element type, and the last."""
    found = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        module = importlib.import_module(f"{__package__}.{path.stem}")
        for cases in (value for name, value in vars(module).items() if name.isupper()):
            if isinstance(cases, list) and cases and hasattr(cases[0], "reference"):
                for run in runs(cases):
                    is_chosen = run.kind in (run.case.kinds[0], run.case.kinds[-1])
                    if is_chosen and function_of(run) is not None:
                        found.append(pytest.param(run, id=f"{path.stem[5:]}-{run}"))
    return found


def function_of(run: Run) -> Any:
    """The torch function that a row names; None if the row has its own reference."""
    known = ref.FUNCTIONS.get(run.case.name.rpartition(".")[2])
    if run.case.reference is not known and not isinstance(run.case.reference, Definition):
        return None
    if f"{run.case.name}-{run.kind}" in UNLIKE:
        return None
    try:
        return operator.attrgetter(run.case.name)(torch)
    except AttributeError:
        return None


def wider(tensor: ref.Tensor) -> ref.Tensor:
    return tensor.float() if tensor.dtype in (ref.float16, ref.bfloat16) else tensor


@pytest.mark.parametrize("run", all_runs())
def test_references(run: Run) -> None:
    (args, keywords), _ = run._arguments("contiguous")
    # In half the precision torch rounds intermediate results too.
    args, keywords = ref.mapped((args, keywords), wider)
    theirs, named = ref.mapped((args, keywords), ref.to_torch)
    expected = function_of(run)(*theirs, **named)
    compare(run.case.reference(*args, **keywords), expected, run.case.close)


def compare(ours: Any, theirs: Any, close: float) -> None:
    if isinstance(theirs, torch.Tensor):
        limit = {ref.float64: 1e-9, ref.float32: 5e-5}.get(ours.dtype, 2e-3) * close
        exact = not ref.is_float(ours.dtype)
        ref.assert_close(
            ours,
            ref.from_torch(theirs),
            rtol=0 if exact else limit,
            atol=0 if exact else limit,
            equal_nan=True,
        )
    elif isinstance(theirs, (tuple, list)):
        assert len(ours) == len(theirs)
        for name in getattr(ours, "_fields", ()):
            assert hasattr(theirs, name)
        for one, other in zip(ours, theirs, strict=True):
            compare(one, other, close)
    else:
        assert ours == theirs
