"""benchmarks/operators.py --wild: random cases, one of them repeated, and the report."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from kit.requirements import need

from .conftest import run


@pytest.mark.requires("torch")
def test_some_cases_and_one_again(tmp_path: Path) -> None:
    path = tmp_path / "wild.json"
    seed = random.randrange(1 << 32)
    given = ("--threads", 1, "--json", path)
    said = run("operators.py", "--wild", 3, "--seed", seed, "--budget", 100, *given)
    found = json.loads(path.read_text())
    assert found["seed"] == seed and f"seed {seed}" in said
    assert len(found["rows"]) == 3 and [row["index"] for row in found["rows"]] == [0, 1, 2]
    row = found["rows"][0]
    assert f"--only '{row['case']}'" in said
    run("operators.py", "--wild", 1, "--only", row["case"], *given)
    (again,) = json.loads(path.read_text())["rows"]
    assert (again["case"], again["call"]) == (row["case"], row["call"])


def test_a_case_is_the_same_for_the_same_line() -> None:
    need("torch")
    import wild_cases

    case = wild_cases.parsed("nn.functional.conv2d/float32/2/77/3000")
    first, again = (wild_cases.build(case, 0, "cpu") for _ in range(2))
    assert wild_cases.text(first) == wild_cases.text(again)
    assert (first.input == again.input).all()
    with pytest.raises(SystemExit, match="expected operator/dtype/sample/draw/elements: add"):
        wild_cases.parsed("add")


def test_sizes_reach_the_target() -> None:
    need("torch")
    import wild_cases

    for number in range(8):
        case = wild_cases.Case("softmax", "float32", number, number, 100_000)
        call = wild_cases.build(case, 0, "cpu")
        most = max(each.numel() for each in wild_cases.tensors_of(call))
        assert most <= 120_000, wild_cases.text(call)


def test_matrices_are_meaningful() -> None:
    need("torch")
    import torch
    import wild_cases

    case = wild_cases.parsed("linalg.cholesky_ex/float32/1/373119579/9000")
    given = wild_cases.build(case, 0, "cpu").input
    assert not torch.linalg.cholesky_ex(given).info.any()
    case = wild_cases.parsed("linalg.lu_solve/float32/5/2445618539/9000")
    call = wild_cases.build(case, 0, "cpu")
    assert torch.linalg.lu_solve(call.input, *call.args, **call.kwargs).isfinite().all()
    case = wild_cases.parsed("linalg.householder_product/float32/15/714862712/512")
    call = wild_cases.build(case, 0, "cpu")
    made = torch.linalg.householder_product(call.input, *call.args)
    assert torch.allclose(made.mT @ made, torch.eye(made.shape[-1]), atol=1e-4)


def test_report_has_the_worst_first() -> None:
    import wild

    def row(name: str, ours: float, failed: str = "") -> dict[str, object]:
        known = {"case": f"{name}/f/0/0/9", "call": name, "failed": failed}
        return known | ({} if failed else {"ours_s": ours, "theirs_s": 1.0})

    rows = [row("good", 0.5), row("bad", 2.0), row("fair", 1.1), row("wrong", 0, "differs")]
    found = {"wild": 4, "seed": 5, "device": "cpu", "threads": 2, "rows": rows}
    text = wild.text({**found, "summary": wild.summary(rows)})
    lines = text.splitlines()
    assert "FAILED wrong: differs" in lines[1] and "bad" in lines[2] and "fair" in lines[3]
    assert "3 cases: geometric mean 0.97 x torch, worst 0.50; below 1.0: 2" in lines[-1]
    assert "below 0.8: 1; failed or different: 1; seed 5" in lines[-1]
