"""Attention to dense, packed and paged keys, and caches of them, against definitions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

import infinicore
from kit import ref
from kit.models import LENGTH, attend, check_attention, integers, normal, order

FLOATS = ["f32", "f16", "bf16"]
HEADS, KEY_HEADS, SIZE = 4, 2, 16
PAGES, ROWS = 7, 4  # of a cache


def causal(queries: int, keys: int) -> ref.Tensor:
    """Distances of keys from the last key that each query attends to."""
    return ref.arange(keys) - (ref.arange(queries)[:, None] + keys - queries)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize("value_size", [SIZE, 8])
def test_mha(kind: str, is_causal: bool, alibi: bool, value_size: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "q": normal(seed, dtype, 2, 5, HEADS, SIZE),
            "k": normal(seed + 1, dtype, 2, 7, KEY_HEADS, SIZE),
            "v": normal(seed + 2, dtype, 2, 7, KEY_HEADS, value_size),
            "slopes": normal(seed + 3, ref.float32, HEADS).abs() if alibi else None,
        }

    def reference(t: dict[str, Any]) -> ref.Tensor:
        distance = causal(5, 7)
        visible = distance <= 0 if is_causal else None
        bias = None if not alibi else -t["slopes"].view(-1, 1, 1) * distance.abs()
        q, k, v = (x.transpose(1, 2) for x in (t["q"], t["k"], t["v"]))
        rows = [attend(q[b], k[b], v[b], 0.3, visible, bias) for b in range(2)]
        return ref.stack(rows).transpose(1, 2)

    check_attention(
        make,
        lambda t: infinicore.mha(t["q"], t["k"], t["v"], t["slopes"], 0.3, is_causal),
        reference,
        kind,
    )


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("steep", [6.0, 60.0])
@pytest.mark.parametrize("hidden", [0, 200])
def test_scores_that_rise(kind: str, steep: float, hidden: int) -> None:
    """The running maximum of the first keys is far too small for the last ones. With `hidden`,
    there is no maximum at first: the first `hidden` scores are -inf."""
    rows, keys, size = 130, 400, 64

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        along = ref.linspace(0, steep, keys, dtype=ref.float64)[:, None, None]
        along[:hidden] = -ref.inf
        return {
            "q": normal(seed, ref.float64, 1, rows, 2, size).abs().to(dtype),
            "k": (normal(seed + 1, ref.float64, 1, keys, 1, size) * 0.1 + along).to(dtype),
            "v": normal(seed + 2, dtype, 1, keys, 1, size),
        }

    def reference(t: dict[str, Any]) -> ref.Tensor:
        q, k, v = (t[name][0].transpose(0, 1) for name in ("q", "k", "v"))
        return attend(q, k, v, 0.05, causal(rows, keys) <= 0).transpose(0, 1)[None]

    score = steep * size * 0.05  # an error of a score is one of the exponent
    check_attention(
        make,
        lambda t: infinicore.mha(t["q"], t["k"], t["v"], None, 0.05, True),
        reference,
        kind,
        length=round(LENGTH * (1 + score)),
    )


def packed(
    t: dict[str, Any],
    keys: list[ref.Tensor],
    values: list[ref.Tensor],
    scale: float,
    window: int = 0,
    softcap: float = 0.0,
) -> ref.Tensor:
    """Causal attention of the rows of q in their bounds to keys [T, Hkv, D] of each sequence."""
    bounds, parts = t["bounds_q"].tolist(), []
    for s, (k, v) in enumerate(zip(keys, values, strict=True)):
        q = t["q"][bounds[s] : bounds[s + 1]].transpose(0, 1)
        distance = causal(q.shape[1], k.shape[0])
        bias = None if t.get("slopes") is None else t["slopes"].view(-1, 1, 1) * distance
        seen = (distance <= 0) & (distance > -window) if window else distance <= 0
        made = attend(q, k.transpose(0, 1), v.transpose(0, 1), scale, seen, bias, softcap)
        parts.append(made.transpose(0, 1))
    return ref.cat(parts)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize("integer", [ref.int32, ref.int64])
def test_mha_varlen_packed(kind: str, alibi: bool, integer: Any) -> None:
    bounds_q, bounds_k = [0, 2, 3, 8], [0, 4, 5, 12]

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "q": normal(seed, dtype, 8, HEADS, SIZE),
            "k": normal(seed + 1, dtype, 12, KEY_HEADS, SIZE),
            "v": normal(seed + 2, dtype, 12, KEY_HEADS, 8),
            "bounds_q": ref.tensor(bounds_q, dtype=integer),
            "bounds_k": ref.tensor(bounds_k, dtype=integer),
            "slopes": normal(seed + 3, ref.float32, HEADS).abs() if alibi else None,
        }

    def reference(t: dict[str, Any]) -> ref.Tensor:
        parts = [slice(a, b) for a, b in pairwise(bounds_k)]
        return packed(t, [t["k"][p] for p in parts], [t["v"][p] for p in parts], 0.25)

    def call(t: dict[str, Any]) -> Any:
        return infinicore.mha_varlen(
            t["q"],
            t["k"],
            t["v"],
            t["bounds_q"],
            t["bounds_k"],
            None,
            max_seqlen_q=5,
            max_seqlen_k=7,
            alibi_slopes=t["slopes"],
            scale=0.25,
        )

    check_attention(make, call, reference, kind)


def cached(seed: int, dtype: Any, flash: bool, value_size: int = SIZE) -> dict[str, Any]:
    """Caches of pages, [.., heads, rows, ..] or with `flash` [.., rows, heads, ..], and tables."""
    shape = (PAGES, ROWS, KEY_HEADS) if flash else (PAGES, KEY_HEADS, ROWS)
    return {
        "k": normal(seed + 1, dtype, *shape, SIZE),
        "v": normal(seed + 2, dtype, *shape, value_size),
        "tables": order(seed, PAGES)[:6].view(3, 2),
        "lengths": ref.tensor([3, 8, 5]),
    }


def rows_of(t: dict[str, Any], name: str, flash: bool) -> list[ref.Tensor]:
    """The keys [T, heads, D] of each sequence."""
    cache = t[name] if flash else t[name].transpose(1, 2)
    lengths = t["lengths"].tolist()
    return [cache[table].flatten(0, 1)[:n] for table, n in zip(t["tables"], lengths, strict=True)]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("alibi", [False, True])
@pytest.mark.parametrize("value_size", [SIZE, 8])
def test_paged_attention(kind: str, alibi: bool, value_size: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return cached(seed, dtype, False, value_size) | {
            "q": normal(seed, dtype, 3, HEADS, SIZE),
            "slopes": normal(seed + 3, ref.float32, HEADS).abs() if alibi else None,
        }

    def reference(t: dict[str, Any]) -> ref.Tensor:
        t["bounds_q"] = ref.arange(4)
        return packed(t, rows_of(t, "k", False), rows_of(t, "v", False), 0.25)

    def call(t: dict[str, Any]) -> Any:
        return infinicore.paged_attention(
            t["q"], t["k"], t["v"], t["tables"], t["lengths"], t["slopes"], 0.25
        )

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("varlen", [False, True])
def test_paged_attention_of_new_tokens(kind: str, varlen: bool) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        made = cached(seed, dtype, varlen) | {
            "q": normal(seed, dtype, 8, HEADS, SIZE),
            "bounds_q": ref.tensor([0, 2, 7, 8], dtype=ref.int32),
        }
        return made | {"bounds_k": ref.tensor([0, 3, 11, 16], dtype=ref.int32)}

    def reference(t: dict[str, Any]) -> ref.Tensor:
        return packed(t, rows_of(t, "k", varlen), rows_of(t, "v", varlen), 0.25)

    def call(t: dict[str, Any]) -> Any:
        if varlen:
            return infinicore.mha_varlen(
                t["q"],
                t["k"],
                t["v"],
                t["bounds_q"],
                t["bounds_k"],
                t["tables"],
                max_seqlen_q=5,
                max_seqlen_k=8,
                scale=0.25,
            )
        return infinicore.paged_attention_prefill(
            t["q"], t["k"], t["v"], t["tables"], t["lengths"], t["bounds_q"], scale=0.25
        )

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize(("window", "softcap"), [(0, 0.0), (3, 0.0), (0, 1.5), (2, 1.5)])
@pytest.mark.parametrize("decode", [False, True])
def test_paged_attention_varlen(kind: str, decode: bool, window: int, softcap: float) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return cached(seed, dtype, False, 8) | {
            "q": normal(seed, dtype, 3 if decode else 8, HEADS, SIZE),
            "bounds_q": ref.arange(4) if decode else ref.tensor([0, 2, 7, 8]),
        }

    def reference(t: dict[str, Any]) -> ref.Tensor:
        return packed(t, rows_of(t, "k", False), rows_of(t, "v", False), 0.25, window, softcap)

    def call(t: dict[str, Any]) -> Any:
        return infinicore.paged_attention_varlen(
            t["q"],
            t["k"],
            t["v"],
            t["tables"],
            t["lengths"],
            None if decode else t["bounds_q"],
            scale=0.25,
            window=window,
            softcap=softcap,
        )

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("count", [1, 3])
def test_mha_kvcache(kind: str, count: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return cached(seed, dtype, True) | {"q": normal(seed, dtype, 3, count, HEADS, SIZE)}

    def reference(t: dict[str, Any]) -> ref.Tensor:
        t["bounds_q"] = ref.arange(4) * count
        shape = t["q"].shape
        t["q"] = t["q"].flatten(0, 1)
        return packed(t, rows_of(t, "k", True), rows_of(t, "v", True), 0.25).view(shape)

    def call(t: dict[str, Any]) -> Any:
        lengths = t["lengths"].to(infinicore.int32)
        tables = t["tables"].to(infinicore.int32)
        return infinicore.mha_kvcache(t["q"], t["k"], t["v"], lengths, tables, scale=0.25)

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("flash", [False, True])
def test_paged_caching(kind: str, flash: bool) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        made = cached(seed, dtype, flash)
        slots = order(seed, PAGES * ROWS)[:5]
        slots[2] = -1
        return {
            "k_cache": made["k"],
            "v_cache": made["v"],
            "k": normal(seed + 5, dtype, 5, KEY_HEADS, SIZE),
            "v": normal(seed + 6, dtype, 5, KEY_HEADS, SIZE),
            "slots": slots,
        }

    def reference(t: dict[str, Any]) -> Any:
        for name in ("k", "v"):
            cache = t[f"{name}_cache"]
            for token, slot in enumerate(t["slots"].tolist()):
                page, row = divmod(slot, ROWS)
                if slot >= 0:
                    (cache if flash else cache.transpose(1, 2))[page, row] = t[name][token]
        return t["k_cache"], t["v_cache"]

    check_attention(
        make,
        lambda t: infinicore.paged_caching(*t.values(), permute_dim_1_2=flash),
        reference,
        kind,
    )


@pytest.mark.parametrize("kind", FLOATS)
def test_kv_caching(kind: str) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "k_cache": normal(seed, dtype, 2, 3, 6, 4),
            "v_cache": normal(seed + 1, dtype, 2, 3, 6, 4),
            "k": normal(seed + 2, dtype, 2, 3, 2, 4),
            "v": normal(seed + 3, dtype, 2, 3, 2, 4),
            "past": integers(seed, 0, 5, 2),
        }

    def reference(t: dict[str, Any]) -> Any:
        for name in ("k", "v"):
            for b, past in enumerate(t["past"].tolist()):
                t[f"{name}_cache"][b, :, past : past + 2] = t[name][b]
        return t["k_cache"], t["v_cache"]

    check_attention(make, lambda t: infinicore.kv_caching(*t.values()), reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("pos", [0, 3])
def test_attention_with_caches(kind: str, pos: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "q": normal(seed, dtype, HEADS, 2, SIZE),
            "k": normal(seed + 1, dtype, KEY_HEADS, 2, SIZE),
            "v": normal(seed + 2, dtype, KEY_HEADS, 2, SIZE),
            "k_cache": normal(seed + 3, dtype, KEY_HEADS, 8, SIZE),
            "v_cache": normal(seed + 4, dtype, KEY_HEADS, 8, SIZE),
        }

    def reference(t: dict[str, Any]) -> Any:
        t["k_cache"][:, pos : pos + 2], t["v_cache"][:, pos : pos + 2] = t["k"], t["v"]
        k, v = (t[name][:, : pos + 2] for name in ("k_cache", "v_cache"))
        made = attend(t["q"], k, v, SIZE**-0.5, causal(2, pos + 2) <= 0)
        return made.transpose(0, 1), t["k_cache"], t["v_cache"]

    def call(t: dict[str, Any]) -> Any:
        return infinicore.attention(*t.values(), pos), t["k_cache"], t["v_cache"]

    check_attention(make, call, reference, kind)


def test_bad_calls_say_what_was_expected() -> None:
    q, cache = infinicore.ones(2, 3, 8), infinicore.ones(2, 2, 4, 8)
    table, lengths = infinicore.zeros(2, 1, dtype=infinicore.int32), infinicore.tensor([1, 1])
    with pytest.raises(RuntimeError, match="paged_attention: expected Hq % Hkv == 0, but Hq = 3"):
        infinicore.paged_attention(q, cache, cache, table, lengths)
    with pytest.raises(TypeError, match=r"paged_attention: no tensors of type infinicore\.float32"):
        infinicore.paged_attention(q[:, :2], cache, cache, table.to(infinicore.float32), lengths)
    with pytest.raises(RuntimeError, match=r"paged_attention_varlen: .* window = -1"):
        infinicore.paged_attention_varlen(q[:, :2], cache, cache, table, lengths, window=-1)
    with pytest.raises(RuntimeError, match=r"paged_attention_varlen: .* softcap = -2"):
        infinicore.paged_attention_varlen(q[:, :2], cache, cache, table, lengths, softcap=-2.0)
    with pytest.raises(ValueError, match=r"add_rms_norm: weight\.shape"):
        infinicore.add_rms_norm(q, q, infinicore.ones(3))
    with pytest.raises(RuntimeError, match=r"attention: expected M >= pos \+ S, but M = 4"):
        infinicore.attention(q, q, q, infinicore.ones(2, 4, 8), infinicore.ones(2, 4, 8), 9)


def test_nothing_to_do() -> None:
    """No tokens, no sequences, no keys."""
    q, cache = infinicore.ones(0, 4, 8), infinicore.ones(2, 2, 4, 8)
    table = infinicore.zeros(0, 1, dtype=infinicore.int32)
    lengths = infinicore.zeros(0, dtype=infinicore.int32)
    assert infinicore.paged_attention(q, cache, cache, table, lengths).shape == (0, 4, 8)
    x = infinicore.ones(2, 0, 4, 8)
    assert infinicore.mha(x, x, x).shape == (2, 0, 4, 8)
    assert infinicore.mha(infinicore.ones(1, 2, 4, 8), x[:1], x[:1]).tolist() == [
        [[[0.0] * 8] * 4] * 2
    ]
    empty = infinicore.ones(0, 8)
    assert infinicore.add_rms_norm(empty, empty, infinicore.ones(8)).residual.shape == (0, 8)
    assert infinicore.topksoftmax(empty, 2).ids.shape == (0, 2)
    slots = infinicore.zeros(0, dtype=infinicore.int64)
    rows = infinicore.ones(0, 2, 8)
    infinicore.paged_caching(cache, cache.clone(), rows, rows, slots)


@pytest.mark.parametrize("lengths", [[5, 0, 0], [5, 3, 0], [0, 0, 0]], ids=str)
def test_tokens_of_no_sequence_give_zeros(lengths: list[int]) -> None:
    """Steps are padded with them: their rows must be finite, even if the memory was not."""
    device = infinicore.context.get_device()
    dirty = infinicore.full((16, 4, 8), float("nan"), device=device)
    del dirty
    q = infinicore.randn((16, 4, 8)).to(device)
    cache = infinicore.randn((3, 2, 8, 8)).to(device)
    table = infinicore.tensor([[0], [1], [2]], dtype=infinicore.int32, device=device)
    ends = [0, *(sum(lengths[: i + 1]) for i in range(3))]
    lens = infinicore.tensor(lengths, dtype=infinicore.int32, device=device)
    bounds = infinicore.tensor(ends, dtype=infinicore.int32, device=device)
    made = infinicore.paged_attention_varlen(q, cache, cache, table, lens, bounds)
    assert made[ends[-1] :].tolist() == [[[0.0] * 8] * 4] * (16 - ends[-1])
    if ends[-1]:
        few = infinicore.paged_attention_varlen(q[: ends[-1]], cache, cache, table, lens, bounds)
        assert (made[: ends[-1]] - few).abs().max().item() < 1e-6


def test_results_go_where_they_are_wanted() -> None:
    q = infinicore.randn(2, 3, 4, 8)
    for slopes in (None, infinicore.ones(4)):
        out = infinicore.zeros(2, 3, 4, 8)
        assert infinicore.mha(q, q, q, slopes, out=out) is out
        assert infinicore.allclose(out, infinicore.mha(q, q, q, slopes))
    packed = q.view(6, 4, 8)
    bounds = infinicore.tensor([0, 6])
    out = infinicore.zeros(6, 4, 8)
    assert infinicore.mha_varlen(packed, packed, packed, bounds, bounds, out=out) is out
    assert infinicore.allclose(out, infinicore.mha_varlen(packed, packed, packed, None, None))
