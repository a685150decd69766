"""Norms of sums, and rotations by positions, against definitions."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from kit import ref
from kit.models import check, integers, normal

FLOATS = ["f32", "f16", "bf16"]


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 8), (8,)])
@pytest.mark.parametrize("form", ["new", "out", "in place"])
def test_add_rms_norm(kind: str, shape: tuple[int, ...], form: str) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        return {
            "a": normal(seed, dtype, *shape),
            "b": normal(seed + 1, dtype, *shape),
            "weight": normal(seed + 2, dtype, 8),
        }

    def reference(t: dict[str, Any]) -> Any:
        total = t["a"] + t["b"]
        spread = ref.rsqrt((total * total).mean(-1, keepdim=True) + 1e-5)
        return total * spread * t["weight"], total

    def call(t: dict[str, Any]) -> Any:
        if form == "in place":
            infinicore.add_rms_norm_inplace(t["a"], t["b"], t["weight"])
            return t["a"], t["b"]
        if form == "new":
            return infinicore.add_rms_norm(t["a"], t["b"], t["weight"], epsilon=1e-5)
        out, residual = infinicore.empty_like(t["a"]), infinicore.empty_like(t["a"])
        infinicore.add_rms_norm(t["a"], t["b"], t["weight"], out=out, residual=residual)
        return out, residual

    check(make, call, reference, kind)


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("axes", [1, 3])
def test_mrope(kind: str, interleaved: bool, axes: int) -> None:
    head, rotary, sections = 16, 12, (2, 2, 2)

    def make(seed: int, dtype: Any) -> dict[str, Any]:
        angles = ref.arange(9)[:, None] * ref.linspace(0.1, 0.9, 6)
        return {
            "q": normal(seed, dtype, 5, 3 * head),
            "k": normal(seed + 1, dtype, 5, head),
            "cos": angles.cos().to(dtype),
            "sin": angles.sin().to(dtype),
            "positions": integers(seed, 0, 9, 5) if axes == 1 else integers(seed, 0, 9, 3, 5),
        }

    def axis(pair: int) -> int:
        if not interleaved:
            return 0 if pair < 2 else 1 if pair < 4 else 2
        if pair % 3 == 1 and pair < 3 * sections[1]:
            return 1
        return 2 if pair % 3 == 2 and pair < 3 * sections[2] else 0

    def reference(t: dict[str, Any]) -> Any:
        places = t["positions"].expand(3, 5)
        results = []
        for x in (t["q"], t["k"]):
            heads = x.view(5, -1, head).clone()
            for i in range(rotary // 2):
                at = places[axis(i)]
                c, s = t["cos"][at, i][:, None], t["sin"][at, i][:, None]
                a, b = heads[..., i].clone(), heads[..., i + rotary // 2].clone()
                heads[..., i], heads[..., i + rotary // 2] = a * c - b * s, a * s + b * c
            results.append(heads.view(x.shape))
        return results

    check(
        make,
        lambda t: infinicore.mrope(*t.values(), head, rotary, *sections, interleaved),
        reference,
        kind,
    )


@pytest.mark.parametrize("kind", FLOATS)
@pytest.mark.parametrize("is_neox", [True, False])
@pytest.mark.parametrize("rotary", [16, 8])
def test_fused_rotary_embedding(kind: str, is_neox: bool, rotary: int) -> None:
    def make(seed: int, dtype: Any) -> dict[str, Any]:
        angles = ref.arange(9)[:, None] * ref.linspace(0.1, 0.9, rotary // 2)
        return {
            "q": normal(seed, dtype, 5, 3 * 16),
            "k": normal(seed + 1, dtype, 5, 1, 16),
            "positions": integers(seed, 0, 9, 5),
            "table": ref.cat([angles.cos(), angles.sin()], 1).to(dtype),
        }

    def reference(t: dict[str, Any]) -> Any:
        half = rotary // 2
        rows = t["table"][t["positions"]][:, None]
        c, s = rows[..., :half], rows[..., half:]
        results = []
        for x in (t["q"], t["k"]):
            heads = x.view(5, -1, 16).clone()
            first = slice(0, half) if is_neox else slice(0, rotary, 2)
            second = slice(half, rotary) if is_neox else slice(1, rotary, 2)
            a, b = heads[..., first].clone(), heads[..., second].clone()
            heads[..., first], heads[..., second] = a * c - b * s, a * s + b * c
            results.append(heads.view(x.shape))
        return results

    def call(t: dict[str, Any]) -> Any:
        infinicore.fused_rotary_embedding_(t["q"], t["k"], t["positions"], 16, t["table"], is_neox)
        return t["q"], t["k"]

    check(make, call, reference, kind)
