"""Attention with wgmma where TMA cannot copy everything: pages of one key that follow
one another or do not, sequences that end inside a tile, tensors that are not aligned."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import infinicore

SIZE, SCALE = 64, 0.125


@pytest.fixture(autouse=True)
def with_wgmma(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINI_CUDA_ATTENTION", "groups")


def attend(q: Any, k: Any, v: Any) -> Any:
    """Causal attention of [rows, heads, size]."""
    q, k, v = (x.astype(np.float64).transpose(1, 0, 2) for x in (q, k, v))
    k, v = (x.repeat(q.shape[0] // x.shape[0], 0) for x in (k, v))
    scores = q @ k.transpose(0, 2, 1) * SCALE
    hidden = np.triu(np.ones(scores.shape[1:], bool), scores.shape[2] - scores.shape[1] + 1)
    scores = np.where(hidden, -np.inf, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True) @ v).transpose(1, 0, 2)


def there(array: Any) -> Any:
    return infinicore.tensor(array.tolist(), dtype=KINDS[array.dtype.name])


KINDS = {"float16": infinicore.float16, "int32": infinicore.int32}


def drawn(*shape: int) -> Any:
    return np.random.default_rng(len(shape) + shape[1]).standard_normal(shape).astype(np.float16)


@pytest.mark.parametrize("lengths", [(150, 300, 5), (128, 256)])
@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("heads", [2, 6])
def test_pages_of_one_key(lengths: tuple[int, ...], in_order: bool, heads: int) -> None:
    count, most = sum(lengths), max(lengths)
    q, k, v = drawn(count, heads, SIZE), drawn(count, 2, SIZE), drawn(count, 2, SIZE) + 1
    ends = np.cumsum([0, *lengths]).astype(np.int32)
    given = [there(q)]
    table = None
    if in_order:
        given += [there(k), there(v)]
    else:
        page = np.random.default_rng(1).permutation(count)
        mixed = np.empty((2, count, 1, 2, SIZE), np.float16)
        mixed[0][page, 0], mixed[1][page, 0] = k, v
        given += [there(mixed[0]), there(mixed[1])]
        table = np.zeros((len(lengths), most), np.int32)
        for i, length in enumerate(lengths):
            table[i, :length] = page[ends[i] : ends[i] + length]
        table = there(table)
    bounds = there(ends)
    made = infinicore.mha_varlen(*given, bounds, bounds, table, most, most, None, SCALE)
    got = np.array(made.tolist())
    for first, end in pairwise(ends):
        expected = attend(q[first:end], k[first:end], v[first:end])
        assert np.abs(got[first:end] - expected).max() < 0.01


@pytest.mark.parametrize("skipped", [0, 1, 8])
@pytest.mark.parametrize("rows", [130, 256])
def test_tensors_that_begin_anywhere(skipped: int, rows: int) -> None:
    arrays = [drawn(rows, 2, SIZE), drawn(rows, 2, SIZE), drawn(rows, 2, SIZE) + 1]

    def placed(array: Any) -> Any:
        padded = np.concatenate([np.zeros(skipped, np.float16), array.ravel()])
        return there(padded)[skipped:].view(1, *array.shape)

    made = infinicore.mha(*map(placed, arrays), None, SCALE, True)
    assert np.abs(np.array(made.tolist())[0] - attend(*arrays)).max() < 0.01


def test_code_that_is_first_needed_in_a_capture() -> None:
    arrays = [drawn(130, 2, 128), drawn(130, 2, 128), drawn(130, 2, 128) + 1]
    given = [there(np.append(np.float16(0), array))[1:].view(1, *array.shape) for array in arrays]
    recorded = infinicore.graph(lambda q, k, v: infinicore.mha(q, k, v, None, SCALE, True))
    for _ in range(2):
        got = np.array(recorded(*given).tolist())[0]
        assert np.abs(got - attend(*arrays)).max() < 0.01
