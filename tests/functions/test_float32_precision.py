"""set_float32_matmul_precision: TF32 where it is allowed, F32 elsewhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import _core
from infinicore.nn import functional


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    infinicore.set_float32_matmul_precision("highest")


def drawn(seed: int, *shape: int) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def attend(q: Any, k: Any, v: Any) -> Any:
    """Causal attention of the last queries, in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * 0.125
    queries, keys = scores.shape[-2:]
    scores[..., np.triu(np.ones((queries, keys), bool), keys - queries + 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ v


# Head sizes, rows: of one to four warps, of one or two tiles for each.
@pytest.mark.parametrize(
    ("size", "queries", "heads"), [(64, 150, 1), (128, 70, 2), (40, 20, 1), (72, 3, 2)]
)
def test_attention(size: int, queries: int, heads: int) -> None:
    q, k, v = (drawn(i, 1, heads, n, size) for i, n in enumerate((queries, 200, 200)))
    given = [infinicore.tensor(x.tolist()) for x in (q, k, v)]
    expected = attend(q, k, v)

    def error() -> float:
        made = functional.flash_attention(*given, None, is_causal=True, scale=0.125)
        return float(np.abs(np.array(made.tolist()) - expected).max())

    assert error() < 3e-6
    infinicore.set_float32_matmul_precision("high")
    assert error() < 3e-3
    infinicore.set_float32_matmul_precision("highest")
    assert error() < 3e-6  # not the plan of the other precision


@pytest.mark.requires("large-matrices")
def test_products() -> None:
    a, b = drawn(3, 96, 300), drawn(4, 300, 80)
    expected = a.astype(np.float64) @ b
    x, y = infinicore.tensor(a.tolist()), infinicore.tensor(b.tolist())
    recorded = infinicore.graph(lambda x, y: infinicore.matmul(x, y))
    with infinicore.record() as made:
        kept = infinicore.matmul(x, y)

    def error(result: Any) -> float:
        return float(np.abs(np.array(result.tolist()) - expected).max())

    for precision, most in (("highest", 1e-4), ("high", 0.5), ("highest", 1e-4)):
        infinicore.set_float32_matmul_precision(precision)
        assert error(infinicore.matmul(x, y)) < most
        assert error(recorded(x, y)) < most
        made.graph.run()
        assert error(kept) < 1e-4  # recorded with the highest precision


def test_it_belongs_to_the_thread() -> None:
    infinicore.set_float32_matmul_precision("medium")
    seen = []
    thread = threading.Thread(target=lambda: seen.append(infinicore.get_float32_matmul_precision()))
    thread.start()
    thread.join()
    assert seen == ["highest"]
    assert infinicore.get_float32_matmul_precision() == "medium"


def test_it_is_part_of_plans() -> None:
    x = infinicore.ones(5, 77)  # a size that no other test has

    def misses() -> int:
        before = _core.plan_cache_counts()[2]
        infinicore.matmul(x, x.transpose(0, 1))
        return _core.plan_cache_counts()[2] - before

    assert misses() > 0 and misses() == 0
    infinicore.set_float32_matmul_precision("high")
    assert misses() > 0 and misses() == 0
    infinicore.set_float32_matmul_precision("highest")
    assert misses() == 0
