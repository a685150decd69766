"""Arithmetic of tensors and numbers."""

from __future__ import annotations

import pytest

from kit.functions import Run, T, case, runs

ALL = "f32 f16 bf16 f64 i32 i64 u8"

CASES = [
    case("add", T(3, 4), T(3, 4), kinds=ALL),
    case("add", T(3, 4), T(4), kinds=ALL),
    case("add", T(3, 1), T(4), alpha=3, kinds=ALL),
    case("add", T(2, 3), 2),
    case("sub", T(3, 4), T(4), kinds=ALL),
    case("mul", T(3, 4), T(4), kinds=ALL),
    case("div", T(3, 4), T(4, low=1), kinds=ALL),
]


@pytest.mark.parametrize("run", runs(CASES), ids=str)
def test_functions(run: Run) -> None:
    run.check()
