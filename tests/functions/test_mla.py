"""MLA, its caches, and the index of sparse attention (DSA), against their definitions."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from kit import ref
from kit.models import attend, check_attention, integers, normal, order

FLOATS = ["f32", "f16", "bf16"]
PAGES, ROWS = 5, 4
LATENT, ROTARY = 12, 4


def slots_of(seed: int, count: int) -> ref.Tensor:
    made = order(seed, PAGES * ROWS)[:count]
    made[1] = -1
    return made


def stored(cache: ref.Tensor, slots: ref.Tensor, rows: ref.Tensor) -> ref.Tensor:
    """The cache [pages, rows, D] with rows in slots; negative ones are skipped."""
    for slot, row in zip(slots.tolist(), rows, strict=True):
        if 0 <= slot < PAGES * ROWS:
            cache[slot // ROWS, slot % ROWS] = row
    return cache


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("integer", [ref.int32, ref.int64])
def test_concat_and_cache(kind: str, integer: Any) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "kv_c": normal(seed, dtype, 6, LATENT),
            "k_pe": normal(seed + 1, dtype, 6, 1, ROTARY),
            "cache": normal(seed + 2, dtype, PAGES, ROWS, LATENT + ROTARY),
            "slots": slots_of(seed, 6).to(integer),
        }

    def reference(t: dict[str, Any]) -> Any:
        return stored(t["cache"], t["slots"], ref.cat([t["kv_c"], t["k_pe"][:, 0]], 1))

    def call(t: dict[str, Any]) -> Any:
        made = infinicore.concat_and_cache_mla(*t.values(), "auto", infinicore.ones(1))
        assert made is t["cache"] or infinicore.is_graph_recording()
        return t["cache"]

    check_attention(make, call, reference, kind)


def test_concat_and_cache_as_float8() -> None:
    cache = infinicore.zeros(PAGES, ROWS, 3).to(infinicore.float8)
    row = infinicore.tensor([[1.0, 2.0]])
    infinicore.concat_and_cache_mla(
        row, row[:, :1] * 3, cache, infinicore.tensor([6]), "fp8", infinicore.tensor([0.5])
    )
    assert cache[1, 2].to(infinicore.float32).tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(TypeError, match="expected float8"):
        infinicore.concat_and_cache_mla(
            row, row, infinicore.ones(1, 1, 4), infinicore.tensor([0]), "fp8", infinicore.ones(1)
        )


def test_concat_and_cache_int8() -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "kv_c": integers(seed, -127, 128, 6, LATENT).to(ref.int8),
            "kv_scale": normal(seed, ref.float32, 6, 1),
            "k_pe": integers(seed + 1, -127, 128, 6, ROTARY).to(ref.int8),
            "pe_scale": normal(seed + 1, ref.float32, 6),
            "cache": integers(seed + 2, -9, 9, PAGES, ROWS, LATENT + ROTARY).to(ref.int8),
            "scales": normal(seed + 2, ref.float32, PAGES, ROWS, 2),
            "slots": slots_of(seed, 6),
        }

    def reference(t: dict[str, Any]) -> Any:
        rows = ref.cat([t["kv_c"], t["k_pe"]], 1)
        scales = ref.cat([t["kv_scale"], t["pe_scale"][:, None]], 1)
        return stored(t["cache"], t["slots"], rows), stored(t["scales"], t["slots"], scales)

    def call(t: dict[str, Any]) -> Any:
        dense = {"cache": t["cache"].contiguous(), "scales": t["scales"].contiguous()}
        infinicore.concat_and_cache_mla_int8(*(t | dense).values())
        return dense["cache"], dense["scales"]

    check_attention(make, call, reference)


@pytest.mark.parametrize("kind", FLOATS)
def test_concat_mla_q(kind: str) -> None:
    check_attention(
        lambda seed, dtype: {"a": normal(seed, dtype, 3, 2, 5), "b": normal(seed, dtype, 3, 2, 2)},
        lambda t: infinicore.concat_mla_q(t["a"], t["b"]),
        lambda t: ref.cat([t["a"], t["b"]], -1),
        kind,
    )


@pytest.mark.parametrize("kind", FLOATS)
def test_paged_attention_mla(kind: str) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "q": normal(seed, dtype, 2, 3, LATENT + ROTARY),
            "cache": normal(seed + 1, dtype, PAGES, ROWS, LATENT + ROTARY),
            "tables": order(seed, PAGES)[:4].view(2, 2).int(),
            "lengths": ref.tensor([7, 2 + seed], dtype=ref.int32),
        }

    def reference(t: dict[str, Any]) -> Any:
        results = []
        for q, table, length in zip(t["q"], t["tables"], t["lengths"].tolist(), strict=True):
            rows = t["cache"][table.long()].flatten(0, 1)[None, :length]
            results.append(attend(q[:, None], rows, rows[..., :LATENT], 0.2)[:, 0])
        return ref.stack(results)

    def call(t: dict[str, Any]) -> Any:
        out = infinicore.zeros(2, 3, LATENT, dtype=t["q"].dtype)
        infinicore.paged_attention_mla_(out, t["q"], t["cache"], 0.2, t["tables"], t["lengths"], 8)
        return out

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("sink", [False, True])
def test_sparse_flash_mla(kind: str, sink: bool) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        chosen = integers(seed, 0, PAGES * ROWS, 3, 1, 6).int()
        chosen[0, 0, 2] = -1
        return {
            "q": normal(seed, dtype, 3, 2, LATENT + ROTARY),
            "cache": normal(seed + 1, dtype, PAGES * ROWS, 1, LATENT + ROTARY),
            "chosen": chosen,
            "counts": ref.tensor([4, 0, 6], dtype=ref.int32),
            "sink": normal(seed + 2, ref.float32, 2) if sink else None,
        }

    def reference(t: dict[str, Any]) -> Any:
        out = ref.zeros(3, 2, LATENT, dtype=ref.float64)
        for token, count in enumerate(t["counts"].tolist()):
            places = [p for p in t["chosen"][token, 0, :count].tolist() if p >= 0]
            rows = t["cache"][places, 0]
            scores = t["q"][token] @ rows.T * 0.2
            extra = ref.full((2, 1), float("-inf")) if t["sink"] is None else t["sink"][:, None]
            weights = ref.cat([scores, extra], 1).softmax(1)[:, :-1].nan_to_num(0.0)
            out[token] = weights @ rows[:, :LATENT]
        return out

    def call(t: dict[str, Any]) -> Any:
        out = infinicore.zeros(3, 2, LATENT, dtype=t["q"].dtype)
        infinicore.sparse_flash_mla_(
            out, t["q"], t["cache"], t["chosen"], t["counts"], 0.2, t["sink"]
        )
        return out

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
def test_indexer_k_cache(kind: str) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "k": normal(seed, dtype, 6, 8),
            "cache": normal(seed + 1, dtype, PAGES, ROWS, 8),
            "slots": slots_of(seed, 6),
        }

    def call(t: dict[str, Any]) -> Any:
        infinicore.indexer_k_cache_(t["k"], t["cache"], t["slots"])
        return t["cache"]

    check_attention(make, call, lambda t: stored(t["cache"], t["slots"], t["k"]), kind)


def test_a_cache_of_bytes_is_refused() -> None:
    cache = infinicore.zeros(1, 64, 132, dtype=infinicore.uint8)
    with pytest.raises(NotImplementedError, match="fused_fp8_indexer_"):
        infinicore.indexer_k_cache_(infinicore.ones(1, 128), cache, infinicore.tensor([0]))


@pytest.mark.parametrize("kind", FLOATS)
def test_block_sparse_mqa_logits(kind: str) -> None:
    bounds_q, lengths, columns = [0, 2, 5], [6, 4], 9

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "q": normal(seed, dtype, 5, 3, 8),
            "cache": normal(seed + 1, dtype, PAGES, ROWS, 8),
            "bounds_q": ref.tensor(bounds_q, dtype=ref.int32),
            "bounds_kv": ref.tensor([0, 6, 10], dtype=ref.int32),
            "tables": order(seed, PAGES)[:4].view(2, 2).int(),
            "weights": normal(seed + 2, ref.float32, 5, 3),
        }

    def reference(t: dict[str, Any]) -> Any:
        out = ref.full((5, columns), float("-inf"), dtype=ref.float64)
        for s, (begin, end) in enumerate(((0, 2), (2, 5))):
            rows = t["cache"][t["tables"][s].long()].flatten(0, 1)
            for token in range(begin, end):
                for p in range(lengths[s] - (end - token) + 1):
                    score = (t["q"][token] @ rows[p]).relu()
                    out[token, p] = (score * t["weights"][token]).sum()
        return out

    def call(t: dict[str, Any]) -> Any:
        logits = infinicore.zeros(5, columns)
        infinicore.compute_block_sparse_mqa_logits_(logits, *t.values(), 3, 6, 9)
        return logits

    check_attention(make, call, reference, kind)


@pytest.mark.parametrize("each", [1, 2])
@pytest.mark.parametrize("count", [3, 12])
def test_select_decode(each: int, count: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "logits": normal(seed, dtype, 2 * each, 10),
            "lengths": ref.tensor([9, 2 + seed], dtype=ref.int32),
        }

    def reference(t: dict[str, Any]) -> Any:
        out = ref.full((2 * each, count), -1)
        for row in range(2 * each):
            end = int(t["lengths"][row // each]) - (each - 1) + row % each
            chosen = t["logits"][row, :end].argsort(descending=True)[:count]
            out[row, : len(chosen)] = chosen
        return out

    def call(t: dict[str, Any]) -> Any:
        chosen = infinicore.zeros(2 * each, count, dtype=infinicore.int32)
        infinicore.select_decode_topk_block_indices_(chosen, t["logits"], t["lengths"])
        return chosen

    check_attention(make, call, reference)


def test_select_prefill() -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "logits": normal(seed, dtype, 3, 10),
            "begins": ref.tensor([0, 3, 3], dtype=ref.int32),
            "ends": ref.tensor([2, 9, 3], dtype=ref.int32),
        }

    def reference(t: dict[str, Any]) -> Any:
        out = ref.full((3, 4), -1)
        for row in range(3):
            begin, end = int(t["begins"][row]), int(t["ends"][row])
            chosen = t["logits"][row, begin:end].argsort(descending=True)[:4]
            out[row, : len(chosen)] = chosen
        return out

    def call(t: dict[str, Any]) -> Any:
        chosen = infinicore.zeros(3, 4, dtype=infinicore.int32)
        infinicore.select_prefill_topk_block_indices_(chosen, *t.values())
        return chosen

    check_attention(make, call, reference)


@pytest.mark.parametrize("workspace", [False, True])
def test_map_block_indices(workspace: bool) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "requests": integers(seed, 0, 2, 4).int(),
            "tables": ref.tensor([[3, 1], [4, -1]], dtype=ref.int32),
            "places": integers(seed, -1, 9, 4, 5).int(),
            "ids": ref.tensor([-1, 0, 1, -1], dtype=ref.int32),
            "starts": ref.tensor([100, 200], dtype=ref.int32),
        }

    def reference(t: dict[str, Any]) -> Any:
        out = ref.full((4, 5), -1)
        for token in range(4):
            for k, place in enumerate(t["places"][token].tolist()):
                packed = int(t["ids"][token]) if workspace else -1
                if place < 0:
                    continue
                if packed >= 0:
                    out[token, k] = int(t["starts"][packed]) + place
                elif place // 4 < 2:
                    page = int(t["tables"][t["requests"][token], place // 4])
                    out[token, k] = page * 4 + place % 4 if page >= 0 else -1
        return out

    def call(t: dict[str, Any]) -> Any:
        out = infinicore.zeros(4, 5, dtype=infinicore.int32)
        given = (out, t["requests"], t["tables"], t["places"], 4)
        if workspace:
            infinicore.map_prefill_request_block_indices_(*given, True, t["ids"], t["starts"])
        else:
            infinicore.map_decode_request_block_indices_(*given)
        return out

    check_attention(make, call, reference)


def test_context_lens() -> None:
    def call(t: dict[str, Any]) -> Any:
        counts = infinicore.zeros(3, dtype=infinicore.int32)
        infinicore.topk_indices_context_lens_(counts, t["x"])
        return counts

    check_attention(
        lambda seed, dtype: {"x": integers(seed, -1, 3, 3, 1, 6).int()},
        call,
        lambda t: (t["x"] >= 0).sum((1, 2)),
    )


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("is_neox", [True, False])
def test_indexer_postprocess(kind: str, is_neox: bool) -> None:
    tokens, heads, size, rotary = 4, 2, 8, 4

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        angles = ref.arange(9)[:, None] * ref.linspace(0.1, 0.9, rotary // 2)
        return {
            "cache": normal(seed, dtype, PAGES, ROWS, size),
            "slots": slots_of(seed, tokens),
            "q": normal(seed + 1, dtype, tokens, heads, size),
            "kw": normal(seed + 2, dtype, tokens, size + heads),
            "weight": normal(seed + 3, ref.float32, size),
            "bias": normal(seed + 4, ref.float32, size),
            "positions": integers(seed, 0, 9, tokens),
            "table": ref.cat([angles.cos(), angles.sin()], 1).float(),
        }

    def turned(x: ref.Tensor, t: dict[str, Any]) -> ref.Tensor:
        rows = t["table"][t["positions"]][:, None]
        c, s = rows[..., : rotary // 2], rows[..., rotary // 2 :]
        first = slice(0, rotary // 2) if is_neox else slice(0, rotary, 2)
        second = slice(rotary // 2, rotary) if is_neox else slice(1, rotary, 2)
        made = x.clone()
        made[..., first] = x[..., first] * c - x[..., second] * s
        made[..., second] = x[..., first] * s + x[..., second] * c
        return made

    def reference(t: dict[str, Any]) -> Any:
        key = ref.layer_norm(t["kw"][:, :size], (size,), t["weight"], t["bias"], 1e-5)
        key = turned(key[:, None], t)[:, 0]
        cache = stored(t["cache"], t["slots"][:3], key[:3])
        return turned(t["q"], t), key, t["kw"][:, size:] * 0.5, cache

    def call(t: dict[str, Any]) -> Any:
        shapes = ((tokens, heads, size), (tokens, size), (tokens, heads))
        made = [infinicore.zeros(*shape, dtype=t["q"].dtype) for shape in shapes]
        cache = t["cache"].contiguous()
        infinicore.fused_deepseek_v2_indexer_postprocess_(
            *made, cache, *list(t.values())[1:], 3, is_neox, 1e-5, 0.5
        )
        return *made, cache

    check_attention(make, call, reference, kind)
