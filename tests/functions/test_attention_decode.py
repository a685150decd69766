"""Attention of few queries to many keys, large enough for the specialised kernels. Memory after the
last key is NaN."""

from __future__ import annotations

import math
from typing import Any

import pytest

import infinicore
from infinicore.nn import functional
from kit import ref
from kit.models import attend, check_attention, normal, order

HALVES = ["f16", "bf16"]


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize(("heads", "size"), [((8, 2), 128), ((20, 1), 64), ((2, 2), 72)])
def test_dense(kind: str, heads: tuple[int, int], size: int) -> None:
    keys = 700

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        lengths = ref.tensor([keys, 129 + seed, 0], dtype=ref.int32)
        t = {
            "q": normal(seed, dtype, 3, heads[0], 1, size),
            "k": normal(seed + 1, dtype, 3, heads[1], keys, size),
            "v": normal(seed + 2, dtype, 3, heads[1], keys, size),
            "lengths": lengths,
        }
        for b, length in enumerate(lengths.tolist()):
            t["k"][b, :, length:] = t["v"][b, :, length:] = math.nan
        return t

    def reference(t: dict[str, Any]) -> Any:
        results = ref.zeros_like(t["q"])
        for b, length in enumerate(t["lengths"].tolist()):
            if length:
                results[b] = attend(t["q"][b], t["k"][b, :, :length], t["v"][b, :, :length], 0.2)
        return results

    check_attention(
        make,
        lambda t: functional.flash_attention(t["q"], t["k"], t["v"], t["lengths"], scale=0.2),
        reference,
        kind,
    )


def paged(seed: int, dtype: Any, rows: int, size: tuple[int, ...]) -> dict[str, Any]:
    """A cache [pages, ..., rows, size] and two sequences in it."""
    lengths, count = ref.tensor([300 - seed, 70 + seed], dtype=ref.int32), 300 // rows + 1
    tables = order(seed, 2 * count + 3)[: 2 * count].view(2, count).int()
    cache = normal(seed + 1, dtype, 2 * count + 3, *size)
    for table, length in zip(tables.tolist(), lengths.tolist(), strict=True):
        cache[table[length // rows], ..., length % rows :, :] = math.nan
    return {"cache": cache, "tables": tables, "lengths": lengths}


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("rows", [16, 48, 64, 128])
def test_paged(kind: str, rows: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        t = paged(seed, dtype, rows, (2, rows, 128))
        return {"q": normal(seed, dtype, 2, 6, 128), "values": t["cache"] + 1, **t}

    def reference(t: dict[str, Any]) -> Any:
        results = []
        for q, table, length in zip(t["q"], t["tables"], t["lengths"].tolist(), strict=True):
            k, v = (
                t[name][table.long()].transpose(0, 1).flatten(1, 2)[:, :length]
                for name in ("cache", "values")
            )
            results.append(attend(q[:, None], k, v, 0.2)[:, 0])
        return ref.stack(results)

    def call(t: dict[str, Any]) -> Any:
        return infinicore.paged_attention(
            t["q"], t["cache"], t["values"], t["tables"], t["lengths"], scale=0.2
        )

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize(("heads", "rows"), [(16, 64), (5, 16), (24, 32), (70, 64), (128, 32)])
def test_latent(kind: str, heads: int, rows: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "q": normal(seed, dtype, 2, heads, 576),
            **paged(seed, dtype, rows, (rows, 576)),
        }

    def reference(t: dict[str, Any]) -> Any:
        results = []
        for q, table, length in zip(t["q"], t["tables"], t["lengths"].tolist(), strict=True):
            keys = t["cache"][table.long()].flatten(0, 1)[None, :length]
            results.append(attend(q[:, None], keys, keys[..., :512], 0.04)[:, 0])
        return ref.stack(results)

    def call(t: dict[str, Any]) -> Any:
        out = infinicore.zeros(2, heads, 512, dtype=t["q"].dtype)
        infinicore.paged_attention_mla_(out, t["q"], t["cache"], 0.04, t["tables"], t["lengths"], 8)
        return out

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize(
    ("heads", "size"), [((16, 1), 320), ((48, 2), 320), ((96, 2), 320), ((80, 1), 640)]
)
def test_latent_slopes(kind: str, heads: tuple[int, int], size: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "q": normal(seed, dtype, 2, heads[0], size),
            "slopes": normal(seed + 2, ref.float32, heads[0]) / 16,
            **paged(seed, dtype, 32, (heads[1], 32, size)),
        }

    def reference(t: dict[str, Any]) -> Any:
        results = []
        for q, table, length in zip(t["q"], t["tables"], t["lengths"].tolist(), strict=True):
            keys = t["cache"][table.long()].transpose(0, 1).flatten(1, 2)[:, :length]
            bias = t["slopes"][:, None, None] * (ref.arange(length) - length + 1)
            results.append(attend(q[:, None], keys, keys[..., :256], 0.06, bias=bias)[:, 0])
        return ref.stack(results)

    def call(t: dict[str, Any]) -> Any:
        return infinicore.paged_attention(
            t["q"],
            t["cache"],
            t["cache"].narrow(-1, 0, 256),
            t["tables"],
            t["lengths"],
            t["slopes"],
            0.06,
        )

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", HALVES)
@pytest.mark.parametrize("heads", [5, 30])
def test_latent_queries(kind: str, heads: int) -> None:
    queries, keys = 4, 200

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        lengths = ref.tensor([keys, 129 + seed, 2], dtype=ref.int32)
        t = {
            "q": normal(seed, dtype, 3, heads, queries, 512),
            "k": normal(seed + 1, dtype, 3, 1, keys, 512),
            "lengths": lengths,
        }
        for b, length in enumerate(lengths.tolist()):
            t["k"][b, :, length:] = math.nan
        return t

    def reference(t: dict[str, Any]) -> Any:
        results = []
        for q, k, length in zip(t["q"], t["k"], t["lengths"].tolist(), strict=True):
            last = ref.arange(queries)[:, None] + length - queries
            visible = ref.arange(length)[None] <= last
            results.append(attend(q, k[:, :length], k[:, :length], 0.04, visible))
        return ref.stack(results)

    def call(t: dict[str, Any]) -> Any:
        return functional.flash_attention(
            t["q"], t["k"], t["k"], t["lengths"], is_causal=True, scale=0.04
        )

    check_attention(make, call, reference, kind)
