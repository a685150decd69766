"""Out-of-range indices of tables: rejected where the host sees them, never read."""

from __future__ import annotations

from typing import Any

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


def test_embedding_in_a_recording() -> None:
    table, index = infinicore.arange(6.0).reshape(3, 2), infinicore.tensor([0, 2])
    with infinicore.record() as made:
        rows = F.embedding(index, table)
    made.graph.run()
    assert rows.tolist() == [[0.0, 1.0], [4.0, 5.0]]
