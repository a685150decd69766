"""Every kernel that supports a case of attention, with sizes of several tiles of rows and of keys;
the planner would choose only the one it expects to be fastest. Other devices have no choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kit import Maker
from kit.drawing import Draw
from kit.layouts import contiguous, strided
from kit.operator_runs import Trial
from operators.cases import all_cases
from spec.operators import REGISTRY

CASES = all_cases()

# Operator, sizes. Plans are cached, so each kernel has sizes of its own, see below.
SIZES: list[tuple[str, dict[str, int]]] = [
    ("flash_attention", {"B": 1, "Hkv": 1, "Hq": 3, "Lq": 90, "Lk": 270, "D": 128}),
    ("flash_attention", {"B": 2, "Hkv": 1, "Hq": 2, "Lq": 3, "Lk": 1100, "D": 72}),
    ("paged_attention", {"Hkv": 1, "Hq": 20, "S": 2, "D": 64, "E": 64, "M": 40, "N": 50}),
    ("paged_attention", {"Hkv": 1, "Hq": 20, "S": 2, "D": 576, "E": 512, "M": 40, "N": 50}),
    ("paged_attention_prefill", {"Hkv": 1, "Hq": 3, "T": 120, "D": 64, "M": 20, "N": 60, "S": 3}),
]


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F32"])
@pytest.mark.parametrize("kernel", ["rows", "tiles", "groups", ""])
@pytest.mark.parametrize(("name", "sizes"), SIZES)
def test_attention(
    make: Maker,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    sizes: dict[str, Any],
    kernel: str,
    dtype: str,
) -> None:
    monkeypatch.setenv("INFINI_CUDA_ATTENTION", kernel)
    operator = REGISTRY[name]
    longer = ["rows", "tiles", "groups", ""].index(kernel)
    large = {symbol: (size,) for symbol, size in sizes.items()}
    keys = "Lk" if "Lk" in sizes else "M"
    large[keys] = (sizes[keys] + longer,)
    rules = replace(CASES[name], large={**(CASES[name].large or {}), **large})
    layout = strided if longer % 2 else contiguous
    draw = Draw(operator, rules, dtype, "large", longer)
    Trial(make, draw, layout, layout).four_ways()


@pytest.mark.parametrize("kernel", ["rows", "tiles", "groups", ""])
@pytest.mark.parametrize(("window", "softcap"), [(0, 2.0), (70, 0.0), (33, 2.0)])
@pytest.mark.parametrize("decode", [False, True])
def test_window_and_softcap(
    make: Maker,
    monkeypatch: pytest.MonkeyPatch,
    decode: bool,
    window: int,
    softcap: float,
    kernel: str,
) -> None:
    monkeypatch.setenv("INFINI_CUDA_ATTENTION", kernel)
    number = ["rows", "tiles", "groups", ""].index(kernel)
    sizes = {"Hkv": 1, "Hq": 3, "S": 3, "D": 64, "E": 64, "M": 20 + number, "N": 60}
    sizes |= {"R": 8 if number % 2 else 16, "T": 3 if decode else 90}
    rules = replace(
        CASES["paged_attention_varlen"],
        large={symbol: (size,) for symbol, size in sizes.items()},
        attributes={"scale": (0.125,), "window": (window,), "softcap": (softcap,)},
        absent=(("alibi_slopes", *(["cum_seq_lens_q"] if decode else [])),),
    )
    draw = Draw(REGISTRY["paged_attention_varlen"], rules, "F16", "large", number)
    Trial(make, draw).four_ways()
