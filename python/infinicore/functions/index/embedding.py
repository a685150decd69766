"""Embedding lookup in one rank's shard of the vocabulary."""

from __future__ import annotations

from infinicore._dtype import int64
from infinicore._emit import emit
from infinicore._function import function
from infinicore._tensor import Tensor
from infinicore.functions._checks import expect, integers, need_tensor


@function
def vocab_parallel_embedding(
    indices: Tensor, weight: Tensor, vocab_start: int, vocab_end: int
) -> Tensor:
    """Embedding lookup in a shard `weight` [rows, D] of the vocabulary: weight[id - vocab_start]
    for ids from vocab_start up to vocab_end, zeros for others. indices [...], the result [..., D].

    >>> weight, out = infinicore.ones(2, 1), infinicore.zeros(3, 1)
    >>> ids = infinicore.tensor([3, 4, 5])
    >>> infinicore.vocab_parallel_embedding(ids, weight, 4, 6, out=out).flatten()
    tensor([0., 1., 1.])
    """
    name = "vocab_parallel_embedding"
    need_tensor(name, "weight", weight, 2)
    expect(vocab_start <= vocab_end, name, "vocab_end", vocab_end, f"{vocab_start} or more")
    ids = integers(name, "indices", indices, int64).reshape(-1)
    place = emit("where", ids < vocab_end, ids - vocab_start, -1)
    rows = emit("index_select", weight, place, dim=0)
    return rows.view(*indices.shape, weight.shape[1])  # type: ignore[no-any-return]
