"""benchmarks/operators.py: two rows measured, the limits, and results that differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from operator_limits import MIB, Machine

from kit.requirements import need

from .conftest import module, run


@pytest.mark.requires("torch", "c++")
def test_two_rows(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    rows = "add 8x8 F32,rms_norm 1x64"
    text = run("operators.py", "--quick", "--rows", rows, "--threads", 2, "--json", path)
    found = json.loads(path.read_text())
    assert [row["name"] for row in found["rows"]] == ["add", "rms_norm"]
    for row in found["rows"]:
        assert row["ours_s"] > 0 and row["theirs_s"] > 0 and row["limit_s"] > 0
        assert not row["failed"] and f"{row['name']}  " in text
    assert found["limits"]["threads"] == 2 and found["limits"]["tiny"]["add 8x8"] > 0


@pytest.mark.requires("torch", "c++")
def test_calls(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    run("overhead.py", "--quick", "--rows", "x * 0.5,hidden 64", "--threads", 1, "--json", path)
    rows = json.loads(path.read_text())["rows"]
    assert [row["against"] for row in rows] == ["torch", "eager", "torch", "torch"]
    assert all(row["theirs_s"] > 0 and not row["failed"] for row in rows)


def test_a_row_that_differs_has_no_figure() -> None:
    torch = need("torch")
    from operator_cases import Case, Work

    operators = module("operators")  # not tests/operators
    x = torch.ones(1000)
    made = x.clone()
    theirs = [("clone", x.clone)]

    def row(close: float) -> Any:
        work = Work(lambda: None, theirs, made, reads=4000, writes=4000, close=close)
        case = Case("copy", "clone", "1000", "F32", lambda tensors: work)
        return operators.run(case, None, operators.Pace(1e-5, 1, 0.01))

    made[7] += 1e-5
    assert row(1.0).ours_s and not row(1.0).failed
    assert row(0.0).failed == "1 of 1000 elements differ from torch's, by up to 1e-05"
    made[7] += 1e-3
    assert row(1.0).failed and row(1.0).ours_s is None


def test_differences() -> None:
    torch = need("torch")
    import checks

    from kit.functions import CLOSE

    named = {str(dtype).rpartition(".")[2]: pair for dtype, pair in CLOSE.items()}
    assert checks.tolerances() == named
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([1.0, inf, nan, -2.0])
    assert checks.difference(x, x.clone()) == ""
    assert "1 of 4 elements" in checks.difference(torch.tensor([1.0, inf, 0.0, -2.0]), x)
    assert checks.difference(torch.arange(4), torch.tensor([0, 1, 2, 4])).startswith("1 of 4")
    assert checks.difference(x, x[:2]) == "4 elements, torch has 2"
    sums = torch.full((8,), 1000.0)  # the tolerance grows with the results
    assert checks.difference(sums + 1e-2, sums) == ""


def machine(**more: Any) -> Machine:
    rates = {"copy": {MIB: 1e10}, "read": {MIB: 2e10}, "write": {MIB: 5e9}}
    return Machine(2, issue=1e9, lanes=4, products={"BF16": 1e9}, **(rates | more))


def test_limits() -> None:
    limits = machine()
    assert limits.traffic(1e6, 1e6) == pytest.approx(2e6 / 1e10)
    assert limits.traffic(2e6, 1e6) == pytest.approx(2e6 / 1e10 + 1e6 / 2e10)
    assert limits.traffic(0, 1e6) == pytest.approx(1e6 / 5e9)
    # Products of BF16 are slower than widened ones here, so F32's rate is the limit.
    assert limits.arithmetic(0, 4e9, "BF16") == pytest.approx(1.0)
    limits.learn("copy", "F32", (4 * MIB, 4 * MIB, 0), 8 * MIB / 3e10)
    assert limits.traffic(4 * MIB, 4 * MIB) == pytest.approx(8 * MIB / 3e10)
    limits.learn("gemm", "BF16", (1, 1, 8e9), 1.0)
    assert limits.arithmetic(0, 8e9, "BF16") == pytest.approx(1.0)


@pytest.mark.requires("c++")
def test_parallel_loop(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    said = run("parallel_loop.py", "--threads", 2, "--loops", 5, "--json", path)
    assert said.count("a loop of nothing, 2 threads") == 4
    assert all(row["ours_us"] > 0 for row in json.loads(path.read_text())["rows"])
