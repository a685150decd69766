"""Arithmetic of tensors and numbers."""

from __future__ import annotations

from typing import Any

import pytest

import infinicore
from kit import ref
from kit.functions import Run, T, case, runs
from kit.place import put

ALL = "f32 f16 bf16 f64 i32 i64 u8"
NUMBERS = "f32 f16 bf16 f64 i32 i64"

CASES = [
    case("add", T(3, 4), T(3, 4), kinds=ALL),
    case("add", T(3, 4), T(4), kinds=ALL),
    case("add", T(3, 1), T(4), alpha=3, kinds=ALL),
    case("add", T(2, 3), 2.5, kinds=ALL),
    case("add", T(2, 3), T(2, 3, kind="f32"), kinds="i32 f16 f64 bool"),
    case("add", T(), T(3, kind="i32"), kinds="f32 i64 f16"),
    case("add", T(0, 3), T(3)),
    case("sub", T(3, 4), T(4), kinds=ALL),
    case("sub", T(3, 4), 2, alpha=2, kinds=ALL),
    case("rsub", T(3, 4), 7, kinds=NUMBERS),
    case("mul", T(3, 4), T(4), kinds=ALL),
    case("mul", T(3, 4), 1.5, kinds=ALL),
    case("div", T(3, 4), T(4, low=1), kinds=ALL),
    case("div", T(3, 4, low=-9, high=9), T(4, low=1), rounding_mode="floor", kinds=ALL),
    case("div", T(3, 4, low=-9, high=9), T(4, low=1), rounding_mode="trunc", kinds=NUMBERS),
    case("true_divide", T(3, 4), 2, kinds=ALL),
    case("floor_divide", T(3, 4, low=-9, high=9), T(4, low=1), kinds=ALL),
    case("floor_divide", T(3, 4, low=-9, high=9), 2, kinds=ALL),
    case("remainder", T(3, 4, low=-9, high=9), T(4, low=1), kinds=NUMBERS),
    case("remainder", T(3, 4, low=-9, high=9), -2, kinds=NUMBERS),
    case("fmod", T(3, 4, low=-9, high=9), T(4, low=1), kinds=NUMBERS),
    case("pow", T(3, 4, low=0.1), T(4)),
    case("pow", T(3, 4), 2, kinds=ALL),
    case("pow", T(3, 4), 3, kinds=NUMBERS),
    case("pow", T(3, 4, low=0.1), 0.5, kinds=NUMBERS),
    case("pow", T(3, 4, low=1), -1.5),
    case("pow", 2, T(3, 4), skip="method"),
    case("float_power", T(3, 4, low=0.1), T(4), kinds="f32 f64 i32"),
    case("float_power", T(3, 4, low=0.1), 2.5, kinds="f32 f64"),
    case("maximum", T(3, 4), T(4), kinds=ALL),
    case("minimum", T(3, 4), T(4), kinds=ALL),
    case("fmax", T(3, 4), T(4), kinds=ALL),
    case("fmin", T(3, 4), T(4), kinds=ALL),
    case("hypot", T(3, 4), T(4)),
    case("atan2", T(3, 4), T(4)),
    case("copysign", T(3, 4), T(4)),
    case("nextafter", T(3, 4), T(4), kinds="f32 f64"),
    case("gcd", T(3, 4, low=-20, high=20), T(4, low=1, high=20), kinds="i32 i64 u8"),
    case("lcm", T(3, 4, low=-5, high=5), T(4, low=1, high=5), kinds="i32 i64 u8"),
    case("logaddexp", T(3, 4), T(4)),
    case("logaddexp2", T(3, 4), T(4), kinds="f32 f64 f16"),
    case("ldexp", T(3, 4), T(4, kind="i32")),
    case("xlogy", T(3, 4), T(4, low=0.1)),
    case("xlogy", T(3, 4), 2.0),
    case("lerp", T(3, 4), T(3, 4), T(3, 4, low=0, high=1)),
    case("lerp", T(3, 4), T(4), 0.3),
    case("addcmul", T(3, 4), T(3, 4), T(4), value=0.5),
    case("addcmul", T(3, 4), T(3, 4), T(4), kinds="i32 i64"),
    case("addcdiv", T(3, 4), T(3, 4), T(4, low=1), value=0.5),
    case("mul_scalar", T(3, 4), 2.5, reference=lambda x, a: x * a),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()


def test_operators() -> None:
    x, y = ref.tensor([1.0, -2.0, 3.0]), ref.tensor([2.0, 2.0, -4.0])
    a, b = put(x), put(y)
    i, j = ref.tensor([5, 6, 7]), ref.tensor([1, 2, 3])
    k, m = put(i), put(j)
    pairs: list[tuple[Any, Any]] = [
        (2 - a, 2 - x),
        (2 / a, 2 / x),
        (7 // a, 7 // x),
        (7 % a, 7 % x),
        (2**a, 2**x),
        (a**2, x**2),
        (-a, -x),
        (abs(a), abs(x)),
        (a @ b, x @ y),
        (a < b, x < y),
        (a <= 1, x <= 1),
        (a > b, x > y),
        (a >= 1, x >= 1),
        (a == b, x == y),
        (a != b, x != y),
        (k & m, i & j),
        (k | m, i | j),
        (k ^ m, i ^ j),
        (~k, ~i),
        (k << 2, i << 2),
        (k >> 1, i >> 1),
        (1 << m, 1 << j),
        (256 >> m, 256 >> j),
        (k // m, i // j),
        (k % m, i % j),
    ]
    for ours, theirs in pairs:
        ref.assert_close(ref.of(ours), theirs)


def test_in_place_operators() -> None:
    x = ref.tensor([1.0, -2.0, 3.0])
    a = put(x.clone())
    same = a
    a += 1
    a *= 2
    a -= 3
    a /= 4
    assert a is same
    ref.assert_close(ref.of(a), ((x + 1) * 2 - 3) / 4)


def test_operands_of_other_kinds() -> None:
    class Other:
        def __radd__(self, other: Any) -> str:
            return "theirs"

    x = infinicore.ones(2)
    assert x + Other() == "theirs"
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    for bad in (None, "text", [1, 2]):
        with pytest.raises(TypeError, match="unsupported operand"):
            x + bad
        with pytest.raises(TypeError, match="add: other is"):
            infinicore.add(x, bad)
    with pytest.raises(TypeError, match="exp: input is list"):
        infinicore.exp([1.0])
    with pytest.raises(TypeError, match="add: out is int"):
        infinicore.add(x, x, out=3)


def test_bad_arguments() -> None:
    x = infinicore.ones(2, 3)
    with pytest.raises(ValueError, match="add"):
        infinicore.add(x, infinicore.ones(2))
    with pytest.raises(ValueError, match="rounding_mode"):
        infinicore.div(x, 2, rounding_mode="up")
    with pytest.raises(RuntimeError, match="pow"):
        infinicore.pow(infinicore.tensor([1, 2]), -1)
    with pytest.raises(ValueError, match="out"):
        infinicore.add(x, x, out=infinicore.ones(3))


def test_negative_factor_of_an_unsigned_type() -> None:
    x = infinicore.tensor([1, 200, 255], dtype=infinicore.uint8)
    assert infinicore.rsub(x, x, alpha=-3).tolist() == [4, 32, 252]
    assert infinicore.add(x, x, alpha=-3).tolist() == [254, 112, 2]
