"""Out-of-range indices of tables: rejected where the host sees them, never read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import nn
from infinicore.nn import functional as F  # noqa: N812


@pytest.mark.host
@pytest.mark.parametrize("index", [[3], [0, 99], [-1], [[0, 1], [2, -7]]], ids=str)
@pytest.mark.parametrize("kind", [infinicore.int32, infinicore.int64], ids=str)
def test_embedding(index: Any, kind: Any) -> None:
    table = infinicore.ones(3, 4)
    with pytest.raises(IndexError, match="embedding: "):
        F.embedding(infinicore.tensor(index, dtype=kind), table)
    with pytest.raises(IndexError, match="embedding: "):
        nn.Embedding(3, 4)(infinicore.tensor(index, dtype=kind))


@pytest.mark.host
@pytest.mark.parametrize("classes", [[3], [-1]], ids=str)
def test_one_hot(classes: Any) -> None:
    with pytest.raises(IndexError, match="one_hot: "):
        F.one_hot(infinicore.tensor(classes), 3)
    if classes[0] < 0:
        with pytest.raises(IndexError, match="one_hot: "):
            F.one_hot(infinicore.tensor([*classes, 2, -1]))


def test_embedding_in_a_recording() -> None:
    table, index = infinicore.arange(6.0).reshape(3, 2), infinicore.tensor([0, 2])
    with infinicore.record() as made:
        rows = F.embedding(index, table)
    made.graph.run()
    assert rows.tolist() == [[0.0, 1.0], [4.0, 5.0]]


@pytest.mark.parametrize("norm_type", [1.0, 2.0, 3.0, math.inf])
def test_rows_scaled_to_a_norm(norm_type: float) -> None:
    values = np.array([[3.0, -4.0], [0.1, 0.2], [6.0, 8.0], [30.0, 40.0]])
    index = [[0, 1], [2, 2]]
    norms = np.linalg.norm(values, norm_type, axis=1)
    wanted = values * np.where(norms > 2, 2 / norms, 1)[:, None]
    wanted[3] = values[3]  # not selected
    table = infinicore.tensor(values, dtype=infinicore.float32)
    rows = F.embedding(infinicore.tensor(index), table, None, 2.0, norm_type)
    assert np.allclose(table.numpy(force=True), wanted, atol=1e-5)
    assert np.allclose(rows.numpy(force=True), wanted[index], atol=1e-5)
    table = infinicore.tensor(values.T, dtype=infinicore.float32).T  # not contiguous
    bags = F.embedding_bag(infinicore.tensor(index), table, None, 2.0, norm_type, mode="sum")
    assert np.allclose(table.numpy(force=True), wanted, atol=1e-5)
    assert np.allclose(bags.numpy(force=True), wanted[index].sum(1), atol=1e-5)


def test_rows_scaled_in_a_recording() -> None:
    layer = nn.Embedding(3, 2, max_norm=5.0, _weight=infinicore.full((3, 2), 30.0))
    with infinicore.record() as made:
        rows = layer(infinicore.tensor([2, 2]))
    made.graph.run()
    assert np.allclose(rows.numpy(force=True), 5 / math.sqrt(2), atol=1e-5)
    assert layer.weight[0].tolist() == [30.0, 30.0]
    bag = nn.EmbeddingBag(3, 2, max_norm=5.0, _weight=infinicore.full((3, 2), 30.0))
    assert np.allclose(bag(infinicore.tensor([[1, 1]])).numpy(force=True), 5 / math.sqrt(2))


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_empty_bags(mode: str) -> None:
    table = np.arange(10.0).reshape(5, 2)
    weight, starts = infinicore.tensor(table), infinicore.tensor([0, 0, 2, 2])
    bags = F.embedding_bag(infinicore.tensor([3, 1, 4]), weight, starts, mode=mode)
    fold = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    expected = np.array([[0, 0], fold(table[[3, 1]], 0), [0, 0], table[4]])
    assert np.array_equal(bags.numpy(force=True), expected)
    none = infinicore.zeros(0, dtype=infinicore.int64)
    assert F.embedding_bag(none, weight, starts * 0, mode=mode).tolist() == [[0.0, 0.0]] * 4


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("size", [1, 2, 6, 7])
def test_bags_of_few(size: int, mode: str) -> None:
    random = np.random.default_rng(size)
    table = random.standard_normal((9, 5)).astype(np.float32)
    table[3, 2] = np.nan
    index = random.integers(0, 9, (40, size))
    fold = {"sum": np.sum, "mean": np.mean, "max": np.max}[mode]
    for name, close in (("float32", 1e-6), ("bfloat16", 1e-2), ("float64", 1e-6)):
        weight = infinicore.tensor(table).to(getattr(infinicore, name))
        made = F.embedding_bag(infinicore.tensor(index), weight, mode=mode)
        assert made.dtype is weight.dtype
        wanted = fold(weight.to(infinicore.float32).numpy(force=True)[index], axis=1)
        found = made.to(infinicore.float32).numpy(force=True)
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close)
