"""Functions that are composed of others, and replayed as a whole after their first call."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import _core

X = np.random.default_rng(3).standard_normal((4, 3)).astype("f4")

CASES: list[tuple[Any, Any]] = [
    (infinicore.hstack, lambda f, x: f([x, x])),
    (infinicore.unsqueeze_copy, lambda f, x: f(x, 0)),
    (infinicore.linalg.norm, lambda f, x: f(x, 2)),
    (infinicore.linalg.vecdot, lambda f, x: f(x, x)),
    (infinicore.fft.fft2, lambda f, x: f(x)),
    (infinicore.complex, lambda f, x: f(x, x)),
    (infinicore.Tensor.half, lambda f, x: f(x, infinicore.contiguous_format)),
]


@pytest.mark.parametrize(
    ("function", "call"), CASES, ids=lambda each: getattr(each, "__name__", "")
)
def test_second_call(function: Any, call: Any) -> None:
    first, second = infinicore.tensor(X), infinicore.tensor(X + 1)
    wanted = [call(function.__wrapped__, each).numpy(force=True) for each in (first, second)]
    call(function, first)
    traces = _core.trace_count(function)
    for each, value in zip((first, second), wanted, strict=True):
        assert np.array_equal(call(function, each).numpy(force=True), value)
    assert _core.trace_count(function) == traces


def test_inputs_at_other_offsets() -> None:
    whole = infinicore.arange(12)
    for offset in (0, 5):
        part = whole.as_strided((6,), (1,), offset)
        assert infinicore.slice_copy(part, 0, 2, 4).tolist() == [offset + 2, offset + 3]
        assert infinicore.as_strided_copy(part, (2,), (3,), 1).tolist() == [1, 4]


def test_out() -> None:
    x, out = infinicore.tensor(X), infinicore.zeros(8, 3)
    assert infinicore.vstack([x, x], out=out) is out
    assert np.array_equal(out.numpy(force=True), np.vstack([X, X]))
    infinicore.vstack([out[1:5], out[:4]], out=out)  # over its own input
    wanted = np.vstack([X, X])
    assert np.array_equal(out.numpy(force=True), np.vstack([wanted[1:5], wanted[:4]]))


def test_parts_of_unbind_copy() -> None:
    x = infinicore.tensor(X)
    parts = infinicore.unbind_copy(x, 1)
    parts[0].zero_()
    assert np.array_equal(parts[1].numpy(force=True), X[:, 1]) and np.array_equal(
        x.numpy(force=True), X
    )


@pytest.mark.parametrize("count", [0, 1, 3, 60, 100])
def test_combinations(count: int) -> None:
    x = infinicore.arange(count)
    for r, repeats in ((1, False), (2, False), (2, True), (3, False)):
        choose = itertools.combinations_with_replacement if repeats else itertools.combinations
        wanted = np.array(list(choose(range(count), r)), dtype="i8").reshape(-1, r)
        assert np.array_equal(infinicore.combinations(x, r, repeats).numpy(force=True), wanted)


@pytest.mark.parametrize("count", [1, 8, 100, 201])
def test_pdist(count: int) -> None:
    x = np.random.default_rng(count).standard_normal((count, 3))
    pairs = [(i, j) for i in range(count) for j in range(i + 1, count)]
    wanted = [np.abs(x[i] - x[j]).sum() for i, j in pairs]
    assert np.allclose(infinicore.pdist(infinicore.tensor(x), 1).numpy(force=True), wanted)


def test_put_in_place() -> None:
    x = infinicore.arange(6)
    x.put_(infinicore.tensor([5, -2]), x[:2])  # memory that is also written
    assert x.tolist() == [0, 1, 2, 3, 1, 0]
    columns = infinicore.arange(6).reshape(2, 3).T
    columns.put_(infinicore.tensor([1, 1]), infinicore.tensor([10, 20]), True)
    assert columns.tolist() == [[0, 33], [1, 4], [2, 5]]


def test_copies_of_other_layouts() -> None:
    whole = infinicore.arange(24)
    for shape, strides in (((2, 3), (1, 4)), ((2, 3), (12, 2)), ((3, 2), (1, 4)), ((2, 3), (0, 1))):
        for kind in (infinicore.int64, infinicore.float32):
            view = whole.to(kind).as_strided(shape, strides)
            wanted = np.lib.stride_tricks.as_strided(
                np.arange(24), shape, [8 * each for each in strides]
            )
            assert np.array_equal(view.clone().numpy(force=True), wanted)
            assert np.array_equal(view.flatten().numpy(force=True), wanted.ravel())
