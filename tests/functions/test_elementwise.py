"""Functions of one tensor."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from kit import ref
from kit.functions import Run, T, case, runs
from kit.place import put

WIDE = (
    "abs ceil cos cosh erf erfc exp exp2 expm1 floor neg relu round sigmoid sign sgn sin sinh tan"
    " tanh trunc frac square deg2rad rad2deg asinh atan sinc positive"
)
ABOVE = "log log2 log10 log1p sqrt rsqrt reciprocal lgamma digamma"
INSIDE = "acos asin atanh erfinv logit"
OTHER = "absolute negative fix arcsin arctan"

CASES = [
    *(case(name, T(3, 5)) for name in WIDE.split()),
    *(case(name, T(3, 5, low=0.2, high=6)) for name in ABOVE.split()),
    *(case(name, T(3, 5, low=0.05, high=0.9)) for name in INSIDE.split()),
    *(case(name, T(3, 5, low=0.05, high=0.9), kinds="f32") for name in OTHER.split()),
    case("acosh", T(3, 5, low=1.1)),
    *(
        case(name, T(3, 5, low=1, high=9), kinds="i32 i64 u8")
        for name in ["abs", "sqrt", "exp", "log", "sin"]
    ),
    *(
        case(name, T(3, 5), kinds="i32 i64")
        for name in ["neg", "ceil", "floor", "round", "trunc", "sign", "square", "relu"]
    ),
    *(case(name, T(), kinds="f32") for name in ["exp", "neg", "sqrt"]),
    *(case(name, T(0, 3), kinds="f32") for name in ["exp", "neg", "sqrt"]),
    case("round", T(3, 5), decimals=1, kinds="f32 f64"),
    case("round", T(3, 5, low=-300, high=300), decimals=-2, kinds="f32 f64"),
    case("frexp", T(3, 5), skip="out"),
    case("clamp", T(3, 5), -1.0, 1.0),
    case("clamp", T(3, 5), min=0, kinds="f32 i32 i64"),
    case("clamp", T(3, 5), max=T(5), kinds="f32 i32"),
    case("clip", T(3, 5), T(3, 5), T(5), kinds="f32 f16"),
    case("clamp_min", T(3, 5), 0.5),
    case("clamp_max", T(3, 5), 0.5),
    case("logit", T(3, 5), eps=0.1),
    case("nan_to_num", T(3, 5)),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


SPECIAL = [0.0, -0.0, 1.0, float("inf"), float("-inf"), float("nan"), 65504.0]


@pytest.mark.parametrize("dtype", [ref.float32, ref.float16, ref.bfloat16, ref.float64])
def test_nan_to_num(dtype: Any) -> None:
    x = ref.tensor(SPECIAL, dtype=dtype)
    for keywords in ({}, {"nan": 2.0, "posinf": 1.0}, {"neginf": -3.0}):
        made = infinicore.nan_to_num(put(x), **keywords)
        ref.assert_close(ref.of(made), ref.nan_to_num(x, **keywords))
