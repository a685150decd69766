"""Operators that hand over results in memory of their own: argwhere and masked_select."""

from __future__ import annotations

import ctypes

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

from kit import Maker  # noqa: E402
from kit.drawing import Draw, Rules  # noqa: E402
from kit.layouts import contiguous, strided, transposed  # noqa: E402
from kit.operator_runs import SUCCESS, Trial  # noqa: E402
from spec.operators import REGISTRY  # noqa: E402

LAYOUTS = (contiguous, strided, transposed)
KINDS = ("usual", "one", "empty", "scalar", "large")


def mostly_zero(draw: Draw, shape: tuple[int, ...]) -> object:
    return np.where(draw.rng.random(shape) < 0.3, draw.normal(shape), 0.0)


def run(trial: Trial, results: dict[str, object]) -> None:
    names = {p.name: trial.tensors.get(p.tensor) for p in trial.operator.run.pointers}
    pointers = {name: placed.address if placed else None for name, placed in names.items()}
    status = trial.described.run({**pointers, **results}, {}, None)
    assert status == SUCCESS, trial.make.rt.message()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_argwhere(make: Maker, kind: str, layout: object) -> None:
    operator = REGISTRY["argwhere"]
    delete = ctypes.CDLL("libstdc++.so.6")["_ZdaPv"]  # operator delete[]
    delete.argtypes, delete.restype = [ctypes.c_void_p], None
    for seed in range(3):
        draw = Draw(operator, Rules(values={"input": mostly_zero}), "F32", kind, seed)
        trial = Trial(make, draw, layout)
        values = trial.data(seed)
        trial.load(values)
        output, count = ctypes.c_void_p(), ctypes.c_size_t()
        run(trial, {"output": ctypes.addressof(output), "count": ctypes.addressof(count)})
        expected = np.argwhere(values["input"] != 0)
        assert count.value == len(expected)
        if expected.size:
            found = (ctypes.c_int64 * expected.size).from_address(output.value or 0)
            assert np.array_equal(np.array(found).reshape(expected.shape), expected)
        if output.value:
            delete(output)


@pytest.mark.needs("host-readable")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_masked_select(make: Maker, kind: str, layout: object) -> None:
    operator = REGISTRY["masked_select"]
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    for seed in range(3):
        draw = Draw(operator, Rules(), "F32", kind, seed)
        trial = Trial(make, draw, layout)
        values = trial.data(seed)
        trial.load(values)
        data, length = ctypes.c_void_p(), ctypes.c_size_t()
        run(trial, {"data_ptr": ctypes.addressof(data), "dlen": ctypes.addressof(length)})
        expected = values["input"][values["mask"]]
        assert length.value == expected.size
        if expected.size:
            found = (ctypes.c_float * expected.size).from_address(data.value or 0)
            assert np.array_equal(np.array(found), expected.astype(np.float32))
        if data.value:
            free(data)
