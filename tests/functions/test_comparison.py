"""Comparison, truth values, bits."""

from __future__ import annotations

import pytest

import infinicore
from kit import ref
from kit.functions import B, Run, T, case, runs
from kit.place import put

ALL = "f32 f16 bf16 f64 i32 i64 u8 bool"
INTEGERS = "i32 i64 u8 i8 i16"

CASES = [
    *(
        case(name, T(3, 4, low=0), T(4, low=0), kinds=ALL)
        for name in ["eq", "ne", "lt", "le", "gt", "ge"]
    ),
    *(case(name, T(3, 4), 1, kinds=ALL) for name in ["eq", "ne", "lt", "le", "gt", "ge"]),
    case("equal", T(3, 4), T(3, 4), reference=ref.eq, kinds=ALL),
    case("greater", T(3, 4), T(4, kind="f32"), kinds="i32 f16"),
    case("less_equal", T(3, 4), T(4, kind="f32"), kinds="i32 f16"),
    *(
        case(name, T(3, 4, low=0, high=2), T(4, low=0, high=2), kinds=ALL)
        for name in ["logical_and", "logical_or", "logical_xor"]
    ),
    case("logical_not", T(3, 4, low=0, high=2), kinds=ALL),
    *(
        case(
            name,
            T(3, 4, low=0, high=100),
            T(4, low=0, high=100),
            kinds=INTEGERS + " bool",
        )
        for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]
    ),
    case("bitwise_not", T(3, 4), kinds=INTEGERS + " bool"),
    case("bitwise_left_shift", T(3, 4), T(4, low=0, high=4), kinds=INTEGERS),
    case("bitwise_right_shift", T(3, 4, low=-100, high=100), T(4, low=0, high=4), kinds=INTEGERS),
    *(
        case(name, T(3, 4), kinds=ALL, skip="out" if name == "isfinite" else "")
        for name in ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"]
    ),
    case("heaviside", T(3, 4), T(4)),
    case("heaviside", T(3, 4), T(4), kinds="i32 i64"),
    case("isclose", T(3, 4), T(4), kinds=ALL, skip="out"),
    case("isclose", T(3, 4), T(4), rtol=0.5, atol=0.5, kinds="f32 f16 i32", skip="out"),
    case("where", B(3, 4), T(3, 4), T(4), kinds=ALL, skip="method"),
    case("where", B(3, 1), T(4), 2.0, kinds="f32 f16 i32", skip="method"),
    case("where", B(3, 1), 1, T(4), kinds="f32 f16 i32", skip="method"),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


def test_special_values() -> None:
    x = ref.tensor([0.0, -0.0, 1.0, float("inf"), float("-inf"), float("nan")])
    a = put(x)
    for name in ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "signbit"]:
        assert ref.equal(ref.of(getattr(infinicore, name)(a)), getattr(ref, name)(x)), name
    for equal_nan in (False, True):
        for y in (x, x + 1e-9, -x):
            made = infinicore.isclose(a, put(y), equal_nan=equal_nan)
            assert ref.equal(ref.of(made), ref.isclose(x, y, equal_nan=equal_nan))
    zero = ref.zeros(6)
    made = infinicore.heaviside(a, put(zero))
    assert ref.equal(ref.of(made), ref.heaviside(x, zero))


def test_allclose() -> None:
    x = infinicore.ones(3)
    assert infinicore.allclose(x, x + 1e-7) is True
    assert infinicore.allclose(x, x + 1) is False


def test_where_alone() -> None:
    x = ref.tensor([[0, 1], [2, 0]])
    made = infinicore.where(put(x))
    for one, other in zip(made, ref.where(x), strict=True):
        assert ref.equal(ref.of(one), other)
