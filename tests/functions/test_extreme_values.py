"""Functions at the limits of their types."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import infinicore
from infinicore import tensor
from kit import ref
from kit.place import put


def repeated(values: list[int], counts: list[int]) -> list[int]:
    return infinicore.repeat_interleave(tensor(values), tensor(counts)).tolist()  # type: ignore[no-any-return]


def test_repeat_interleave_by_a_tensor() -> None:
    assert repeated([1, 2, 3], [2, 0, 1]) == [1, 1, 3]
    assert repeated([1], [0]) == []
    rows = infinicore.repeat_interleave(tensor([[1, 2], [3, 4]]), tensor([1, 2]), 1)
    assert rows.tolist() == [[1, 2, 2], [3, 4, 4]]
    assert infinicore.repeat_interleave(tensor([2, 0, 1])).tolist() == [0, 0, 2]
    empty = infinicore.zeros(0, dtype=infinicore.int64)
    assert infinicore.repeat_interleave(empty, empty).tolist() == []


@pytest.mark.parametrize("counts", [[2**40, 1], [2**62, 2**62], [2**63 - 1, 2**63 - 1]], ids=str)
def test_repeat_interleave_more_often_than_memory_has(counts: list[int]) -> None:
    """Raises immediately: a list of this many indices would exhaust the memory first."""
    with pytest.raises((MemoryError, RuntimeError), match=r"no memory|repeat_interleave"):
        repeated([1, 2], counts)


def test_repeat_interleave_refuses() -> None:
    for counts, text in (([1, -1], "0 or more"), ([1, 2, 3], "2 repeats")):
        with pytest.raises(RuntimeError, match=text):
            repeated([1, 2], counts)
    with pytest.raises(TypeError, match="repeats has type"):
        infinicore.repeat_interleave(tensor([1, 2]), tensor([1.5, 1.0]))
    with pytest.raises(RuntimeError, match="output_size is 5: expected 3"):
        infinicore.repeat_interleave(tensor([1, 2]), tensor([1, 2]), output_size=5)


EDGES = [0.0, -0.0, 1.0, -1.5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_nextafter(kind: str) -> None:
    """By definition: no value of the type is between a number and the next one."""
    dtype = getattr(ref, kind)
    limits = [float(np.finfo(np.float16).max), 6e-8] if kind == "float16" else [1e-38]
    pairs = list(itertools.product(EDGES + limits, repeat=2))
    a, b = (np.array(each).astype(dtype) for each in zip(*pairs, strict=True))
    made = ref.of(infinicore.nextafter(put(ref.Tensor(a)), put(ref.Tensor(b)))).array
    assert made.dtype == a.dtype
    bits = np.dtype(f"i{a.dtype.itemsize}")
    for x, y, got in zip(a, b, made, strict=True):
        if math.isnan(x) or math.isnan(y):
            assert math.isnan(got)
        elif x == y:
            assert got == y
        else:
            assert (x < got <= y) if x < y else (y <= got < x), (x, y, got)
            steps = abs(int(got.view(bits)) - int(x.view(bits)))
            assert abs(float(got)) == abs(float(np.int64(1).astype(bits).view(a.dtype))) or (
                steps == 1
            ), (x, y, got)


def lerp(start: np.ndarray, end: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Computed from the nearer end, so that both ends are exact."""
    with np.errstate(all="ignore"):
        way = end - start
        return np.where(np.abs(weight) < 0.5, start + weight * way, end - way * (1 - weight))


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_lerp_of_infinities(kind: str) -> None:
    dtype, weights = getattr(infinicore, kind), [0.0, 0.25, 0.5, 0.75, 1.0, 2.0, -1.0, math.nan]
    rows = list(itertools.product([0.0, 1.0, -2.0, math.inf, -math.inf, math.nan], repeat=2))
    start, end = (list(each) for each in zip(*rows, strict=True))
    for weight in weights:
        expected = lerp(np.array(start), np.array(end), np.full(len(rows), weight))
        a, b = tensor(start, dtype=dtype), tensor(end, dtype=dtype)
        for given in (weight, infinicore.full((len(rows),), weight, dtype=dtype)):
            np.testing.assert_array_equal(infinicore.lerp(a, b, given).tolist(), expected)


def test_lerp_is_exact_at_its_ends() -> None:
    a, b = tensor([1e8, 0.1, -7.3]), tensor([1.0, 3e7, 1e-9])
    assert infinicore.lerp(a, b, 0.0).tolist() == a.tolist()
    assert infinicore.lerp(a, b, 1.0).tolist() == b.tolist()
