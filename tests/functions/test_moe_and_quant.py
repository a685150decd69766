"""Gates of experts, moves of tokens to them, and products with their weights."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from kit import ref
from kit.models import check, integers, normal, order

FLOATS = ["f32", "f16", "bf16"]


def largest(score: ref.Tensor, choice: ref.Tensor, count: int) -> Any:
    """Weights and ids; of equal ones the first."""
    ids = ref.sort(choice, dim=-1, descending=True, stable=True).indices[:, :count]
    return score.gather(1, ids), ids


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("gate", ["softmax", "sigmoid"])
@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_topk_gates(kind: str, gate: str, renormalize: bool, biased: bool) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "x": normal(seed, dtype, 6, 12),
            "bias": normal(seed + 1, ref.float32, 12) if biased else None,
        }

    def reference(t: dict[str, Any]) -> Any:
        score = t["x"].softmax(-1) if gate == "softmax" else t["x"].sigmoid()
        choice = score if t["bias"] is None else score + t["bias"]
        weights, ids = largest(score, choice, 3)
        if renormalize:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights, ids, ref.arange(3) * 6 + ref.arange(6)[:, None]

    def call(t: dict[str, Any]) -> Any:
        function = getattr(infinicore, f"moe_topk_{gate}_vendor")
        return function(t["x"], 3, renormalize, t["bias"])

    check(make, call, reference, kind)


def test_gates_write_results_and_choose_types() -> None:
    x = infinicore.tensor([[0.0, 2.0, 1.0]])
    weights = infinicore.zeros(1, 2)
    ids = infinicore.zeros(1, 2, dtype=infinicore.int64)
    made = infinicore.moe_topk_softmax_vendor(x, 2, out=(weights, ids))
    assert made.weights is weights and ids.tolist() == [[1, 2]]
    wide = infinicore.moe_topk_sigmoid_vendor(x, 2, topk_ids_dtype=infinicore.int64).ids
    assert wide.dtype == infinicore.int64


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("scoring", ["softmax", "sigmoid"])
@pytest.mark.parametrize("renormalize", [False, True])
def test_grouped_topk(kind: str, scoring: str, renormalize: bool) -> None:
    groups, kept, size = 4, 2, 3

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        experts = groups * size
        return {"x": normal(seed, dtype, 5, experts), "bias": normal(seed, dtype, experts)}

    def reference(t: dict[str, Any]) -> Any:
        score = t["x"].softmax(-1) if scoring == "softmax" else t["x"].sigmoid()
        choice = (score + t["bias"]).view(5, groups, size)
        rank = choice.topk(2, -1).values.sum(-1)
        best = ref.zeros_like(rank).scatter(1, rank.topk(kept, -1).indices, 1).bool()
        open_ = choice.masked_fill(~best[..., None], float("-inf")).view(5, -1)
        weights, ids = largest(score, open_, 4)
        if renormalize:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights * 2.5, ids

    def call(t: dict[str, Any]) -> Any:
        return infinicore.grouped_topk_vendor(
            t["x"], groups, kept, 4, renormalize, 2.5, t["bias"], scoring
        )

    check(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("norm", [False, True])
def test_topksoftmax(kind: str, norm: bool) -> None:
    def reference(t: dict[str, Any]) -> Any:
        score = t["x"].softmax(-1)
        weights, ids = largest(score, score, 4)
        return (weights / weights.sum(-1, keepdim=True) if norm else weights), ids

    check(
        lambda seed, dtype: {"x": normal(seed, dtype, 3, 9)},
        lambda t: infinicore.topksoftmax(t["x"], 4, norm),
        reference,
        kind,
    )


@pytest.mark.parametrize("kind", FLOATS)
def test_topkrouter(kind: str) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {"x": normal(seed, dtype, 2, 256), "bias": normal(seed, ref.float32, 256)}

    def reference(t: dict[str, Any]) -> Any:
        score = t["x"].sigmoid()
        choice = (score + t["bias"]).view(2, 8, 32)
        rank = choice.topk(2, -1).values.sum(-1)
        best = ref.zeros_like(rank).scatter(1, rank.topk(4, -1).indices, 1).bool()
        weights, ids = largest(score, choice.masked_fill(~best[..., None], 0.0).view(2, -1), 8)
        return weights * 1.5 / (1e-9 + weights.sum(-1, keepdim=True)), ids

    check(make, lambda t: infinicore.topkrouter(t["x"], t["bias"], 1.5, 8), reference, kind)


def test_argsort_bincount() -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {"ids": integers(seed, 0, 5, 6, 2).int()}

    def reference(t: dict[str, Any]) -> Any:
        flat = t["ids"].flatten()
        places = ref.argsort(flat, stable=True)
        inverse = ref.empty_like(places)
        inverse[places] = ref.arange(12)
        return ref.bincount(flat, minlength=5), places, inverse

    def call(t: dict[str, Any]) -> Any:
        counts, places, inverse = (infinicore.zeros(n, dtype=infinicore.int32) for n in (5, 12, 12))
        infinicore.moe_argsort_bincount_with_inv_pos_(counts, places, inverse, t["ids"], 5)
        return counts, places, inverse

    check(make, call, reference)


def quantised(x: ref.Tensor, parts: int = 1) -> Any:
    """Codes and scales as float32 gives them."""
    rows = x.float().view(x.shape[0] * parts, -1)
    scale = (rows.abs().amax(-1, keepdim=True) / 127).clamp(min=1e-8)
    ratio = rows / scale
    codes = (ratio.abs() + 0.5).floor().copysign(ratio).clamp(-127, 127)
    return codes.view(x.shape).to(ref.int8), scale.view(x.shape[0], parts).double()


@pytest.mark.parametrize("form", ["plain", "rows", "groups"])
@pytest.mark.parametrize("kind", FLOATS)
def test_expand_input(kind: str, form: str) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {"x": normal(seed, dtype, 4, 8), "places": order(seed, 12).int()}

    def reference(t: dict[str, Any]) -> Any:
        rows = ref.empty(12, 8, dtype=ref.float64)
        for pair, place in enumerate(t["places"].tolist()):
            rows[place] = t["x"][pair // 3]
        return rows if form == "plain" else quantised(rows, 1 if form == "rows" else 2)

    def call(t: dict[str, Any]) -> Any:
        if form == "plain":
            made = infinicore.zeros(12, 8, dtype=t["x"].dtype)
            infinicore.moe_expand_input_with_inv_pos_(made, None, t["x"], t["places"], 3)
            return made
        made = infinicore.zeros(12, 8, dtype=infinicore.int8)
        scales = infinicore.zeros(12, 1 if form == "rows" else 2)
        infinicore.moe_expand_input_with_inv_pos_(made, scales, t["x"], t["places"], 3, 4)
        return made, scales

    check(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
def test_silu_and_mul(kind: str) -> None:
    def reference(t: dict[str, Any]) -> Any:
        return ref.silu(t["x"][:, :6]) * t["x"][:, 6:]

    def call(t: dict[str, Any]) -> Any:
        made = infinicore.zeros(3, 6, dtype=t["x"].dtype)
        infinicore.moe_silu_and_mul_quant_(made, None, t["x"])
        return made

    def codes(t: dict[str, Any]) -> Any:
        made, scales = infinicore.zeros(3, 6, dtype=infinicore.int8), infinicore.zeros(3)
        infinicore.moe_silu_and_mul_quant_(made, scales, t["x"])
        return made.to(infinicore.float32) * scales.unsqueeze(1)

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {"x": normal(seed, dtype, 3, 12)}

    check(make, call, reference, kind)

    def half_a_step(expected: ref.Tensor) -> Any:
        return expected.abs().amax(-1, keepdim=True).array / 127 / 2

    check(make, codes, reference, "bf16", more=half_a_step)


def test_unknown_formats_are_refused() -> None:
    x = infinicore.ones(1, 2)
    with pytest.raises(NotImplementedError, match="format is 1"):
        infinicore.moe_silu_and_mul_quant_(infinicore.ones(1, 1), None, x, 1)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("weighted", [False, True])
def test_moe_sum(kind: str, weighted: bool) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "x": normal(seed, dtype, 4, 3, 8),
            "weights": normal(seed + 1, ref.float32, 4, 3) if weighted else None,
            "extra": normal(seed + 2, dtype, 4, 8) if weighted else None,
        }

    def reference(t: dict[str, Any]) -> Any:
        if not weighted:
            return t["x"].sum(1)
        return (t["x"] * t["weights"][..., None]).sum(1) * 1.5 + t["extra"] * 0.5

    def call(t: dict[str, Any]) -> Any:
        made = infinicore.zeros(4, 8, dtype=t["x"].dtype)
        scales = (1.5, 0.5) if weighted else (1.0, 1.0)
        infinicore.moe_sum_vendor_(made, t["x"], t["weights"], t["extra"], *scales)
        return made

    check(make, call, reference, kind)


# ---- Products -----------------------------------------------------------------------------------


def packed(codes: ref.Tensor) -> ref.Tensor:
    """Numbers from -8 to 7 in pairs along the last dimension, the first in the lower bits."""
    nibbles = codes.to(ref.int64) & 15
    return (nibbles[..., 0::2] | nibbles[..., 1::2] << 4).to(ref.uint8)


@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("signed", [False, True])
def test_scaled_mm(bits: int, transposed: bool, biased: bool, signed: bool) -> None:
    limit = 100 if bits == 8 else 8

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        whole = integers(seed + 1, -limit, limit, 6, 10).to(ref.int8)  # [N, K]
        if bits == 8:
            b = whole if transposed else whole.T.contiguous()
        else:
            b = packed(whole) if transposed else packed(whole.T)
            b = b.view(ref.int8) if signed else b
        return {
            "a": integers(seed, -100, 100, 5, 10).to(ref.int8),
            "b": b,
            "a_scales": normal(seed, ref.float32, 5, 1).abs() / 50,
            "b_scales": normal(seed + 2, ref.float32, 6).abs() / 20,
            "bias": normal(seed + 3, ref.float16, 6) if biased else None,
            "whole": whole,
        }

    def reference(t: dict[str, Any]) -> Any:
        made = (t["a"].double() * t["a_scales"]) @ (t["whole"].double() * t["b_scales"][:, None]).T
        return made if t["bias"] is None else made + t["bias"]

    def call(t: dict[str, Any]) -> Any:
        function = infinicore.scaled_mm_w8a8 if bits == 8 else infinicore.scaled_mm_w4a8
        return function(t["a"], t["b"], t["a_scales"], t["b_scales"], t["bias"], transposed)

    check(make, call, reference, "f16")


@pytest.mark.parametrize("kind", FLOATS)
def test_dynamic_quantisation(kind: str) -> None:
    def call(t: dict[str, Any]) -> Any:
        scales = infinicore.zeros(4, 1)
        return infinicore.dynamic_scaled_int8_quant(t["x"], scales), scales

    check(
        lambda seed, dtype: {"x": normal(seed, dtype, 4, 8)},
        call,
        lambda t: quantised(t["x"]),
        kind,
    )


COUNTS = {0: [2, 0, 3, 1], 1: [0, 6, 0, 0], 2: [1, 1, 1, 3]}


def grouped(t: dict[str, Any], weight: ref.Tensor, rows: ref.Tensor) -> ref.Tensor:
    """Rows times the weights [E, N, K] of their experts, to their places."""
    owners = ref.repeat_interleave(ref.arange(4), t["counts"].long())
    made = ref.stack([weight[e] @ row for e, row in zip(owners, rows, strict=True)])
    if t["bias"] is not None:
        made = made + t["bias"][owners]
    if t["places"] is None:
        return made
    moved = ref.zeros_like(made)
    moved[t["places"].long()] = made
    return moved


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("transposed", [True, False])
@pytest.mark.parametrize("more", [False, True])
def test_w16a16_group_gemm(kind: str, transposed: bool, more: bool) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        weight = normal(seed, dtype, 4, 5, 8)
        return {
            "x": normal(seed + 1, dtype, 6, 8),
            "weight": weight if transposed else weight.transpose(1, 2).contiguous(),
            "counts": ref.tensor(COUNTS[seed], dtype=ref.int32),
            "places": order(seed, 6).int() if more else None,
            "bias": normal(seed + 2, dtype, 4, 5) if more else None,
        }

    def reference(t: dict[str, Any]) -> Any:
        weight = t["weight"] if transposed else t["weight"].transpose(1, 2)
        return grouped(t, weight, t["x"])

    def call(t: dict[str, Any]) -> Any:
        out = infinicore.zeros(6, 5, dtype=t["x"].dtype)
        infinicore.w16a16_group_gemm_(
            out, t["x"], t["weight"], t["counts"], t["places"], t["bias"], transposed
        )
        return out

    # The product is rounded before a bias is added.
    check(make, call, reference, kind, roundings=int(more))


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("transposed", [True, False])
def test_quantised_group_gemm(kind: str, bits: int, transposed: bool) -> None:
    limit = 100 if bits == 8 else 8

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        whole = integers(seed, -limit, limit, 4, 5, 8).to(ref.int8)
        given = whole if bits == 8 else packed(whole)
        return {
            "x": integers(seed + 1, -100, 100, 6, 8).to(ref.int8),
            "weight": given if transposed else given.transpose(1, 2).contiguous(),
            "x_scale": normal(seed, ref.float32, 6, 1).abs() / 50,
            "w_scale": normal(seed + 1, ref.float32, 4, 5).abs() / 20,
            "counts": ref.tensor(COUNTS[seed], dtype=ref.int32),
            "places": order(seed, 6),
            "bias": normal(seed + 2, dtype, 4, 5),
            "whole": whole,
        }

    def reference(t: dict[str, Any]) -> Any:
        weight = t["whole"].double() * t["w_scale"][..., None]
        return grouped(t, weight, t["x"].double() * t["x_scale"])

    def call(t: dict[str, Any]) -> Any:
        out = infinicore.zeros(6, 5, dtype=t["bias"].dtype)
        function = infinicore.w8a8_group_gemm_ if bits == 8 else infinicore.w4a8_group_gemm_
        function(
            out,
            t["x"],
            t["weight"],
            t["x_scale"],
            t["w_scale"],
            t["counts"],
            t["places"],
            t["bias"],
            transposed,
        )
        return out

    check(make, call, reference, kind)
