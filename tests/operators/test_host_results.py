"""Operators that return results in memory that they allocate: argwhere and masked_select."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from kit import Maker
from kit.drawing import Draw, Rules
from kit.layouts import contiguous, strided, transposed
from kit.operator_runs import SUCCESS, Trial
from spec.operators import REGISTRY
from spec.operators.language.numeric import encode

LAYOUTS = (contiguous, strided, transposed)
KINDS = ("usual", "one", "empty", "scalar", "large")
DTYPES = REGISTRY["argwhere"].tensors[0].dtypes
ONE = [(dtype, kind) for dtype in DTYPES for kind in (KINDS if dtype == "F32" else KINDS[:1])]


def mostly_zero(draw: Draw, shape: tuple[int, ...]) -> object:
    """Zeros of both signs among other values."""
    if draw.main in ("C16", "C32"):  # kept as bits
        signs = {"C16": (0, 0x80, 0x8000, 0x8080), "C32": (0, 0x8000, 2**31, 2**31 + 0x8000)}
        others = draw.integers(1, 100, shape)
        zeros = np.array(signs[draw.main])[draw.integers(0, 4, shape)]
        return np.where(draw.rng.random(shape) < 0.3, others, zeros)
    others = draw.integers(0, 100, shape) * (1j if draw.main in ("C64", "C128") else 1)
    zeros = np.where(draw.rng.random(shape) < 0.5, 0.0, -0.0)
    return np.where(draw.rng.random(shape) < 0.3, others, zeros)


def is_zero(values: Any, dtype: str) -> Any:
    masks = {"C16": 0x7F7F, "C32": 0x7FFF7FFF}
    return (values & masks[dtype] if dtype in masks else values) == 0


def run(trial: Trial, results: dict[str, object]) -> None:
    names = {p.name: trial.tensors.get(p.tensor) for p in trial.operator.run.pointers}
    pointers = {name: placed.address if placed else None for name, placed in names.items()}
    status = trial.described.run({**pointers, **results}, {}, None)
    assert status == SUCCESS, trial.make.rt.message()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "kind"), ONE)
def test_argwhere(make: Maker, dtype: str, kind: str, layout: object) -> None:
    operator = REGISTRY["argwhere"]
    delete = ctypes.CDLL("libstdc++.so.6")["_ZdaPv"]  # operator delete[]
    delete.argtypes, delete.restype = [ctypes.c_void_p], None
    for seed in range(3):
        draw = Draw(operator, Rules(values={"input": mostly_zero}), dtype, kind, seed)
        trial = Trial(make, draw, layout)
        values = trial.data(seed)
        trial.load(values)
        output, count = ctypes.c_void_p(), ctypes.c_size_t()
        run(trial, {"output": ctypes.addressof(output), "count": ctypes.addressof(count)})
        expected = np.argwhere(~is_zero(values["input"], dtype))
        assert count.value == len(expected)
        if expected.size:
            found = (ctypes.c_int64 * expected.size).from_address(output.value or 0)
            assert np.array_equal(np.array(found).reshape(expected.shape), expected)
        if output.value:
            delete(output)


@pytest.mark.needs("host-readable")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(("dtype", "kind"), ONE)
def test_masked_select(make: Maker, dtype: str, kind: str, layout: object) -> None:
    operator = REGISTRY["masked_select"]
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    for seed in range(3):
        draw = Draw(operator, Rules(), dtype, kind, seed)
        trial = Trial(make, draw, layout)
        values = trial.data(seed)
        trial.load(values)
        data, length = ctypes.c_void_p(), ctypes.c_size_t()
        run(trial, {"data_ptr": ctypes.addressof(data), "dlen": ctypes.addressof(length)})
        expected = values["input"][values["mask"]]
        assert length.value == expected.size
        if expected.size:
            wanted = encode(expected, dtype)
            found = (ctypes.c_char * wanted.nbytes).from_address(data.value or 0)
            assert bytes(found) == wanted.tobytes()
        if data.value:
            free(data)
