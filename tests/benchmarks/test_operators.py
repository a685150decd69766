"""benchmarks/operators.py: two rows measured, and the reports made of them."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "operators.py"


def run(*arguments: object) -> str:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def figures(architecture: str) -> dict[str, Any]:
    def row(name: str, ours: float, theirs: float | None, **more: Any) -> dict[str, Any]:
        known = {"group": "norm", "name": name, "shape": "4x4", "dtype": "F32", "decode": False}
        amounts = {"reads": 2**24, "writes": 2**24, "elementwise": 0.0, "products": 0.0}
        times = {"ours_s": ours, "theirs_s": theirs, "limit_s": 0.5 * ours, "of_limit": 0.5}
        ratio = None if theirs is None else theirs / ours
        rest = {"against": "torch", "bound": "memory", "x_torch": ratio, "missed": [], "failed": ""}
        return {**known, **amounts, **times, **rest, **more}

    limits = {"threads": 2, "copy": {"1048576": 1e10}, "read": {"1048576": 1e10}, "issue": 1e9}
    limits |= {"lanes": 4, "products": {"BF16": 1e11}, "tiny": {"add 8x8": 200.0}}
    rows = [row("a", 1e-3, 4e-3), row("b", 1e-3, 1e-3, missed=["of <limit>"]), row("c", 1e-3, None)]
    facts = {"machine": f"a {architecture}", "architecture": architecture, "torch": "2"}
    return {**facts, "infinicore": "0", "commit": "abc", "limits": limits, "rows": rows}


def test_reports(tmp_path: Path) -> None:
    files = []
    for architecture in ("aarch64", "x86_64"):
        files.append(tmp_path / f"{architecture}.json")
        files[-1].write_text(json.dumps(figures(architecture)))
    tables, chart = tmp_path / "tables.md", tmp_path / "chart.svg"
    run("--from", *files, "--markdown", tables, "--chart", chart)
    text = tables.read_text()
    assert "| norm | 3 | 2.00 | 1.00 | 50 % | 1 |" in text
    assert "mean of all rows 2.00x torch, goal >= 4: MISSED" in text
    assert "mean of all rows 2.00x torch, goal >= 1.5: met" in text
    assert "norm/b 4x4 F32: of <limit>" in text and "n/a" in text and "chart.svg" in text
    assert chart.read_text().count("<circle") == 2 * (2 + 1)


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs torch")
@pytest.mark.skipif(not shutil.which("g++"), reason="needs a C++ compiler")
def test_two_rows(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    only = ("add 8x8 F32", "rms_norm 1x64")
    text = run("--quick", "--only", *only, "--threads", 2, "--json", path)
    found = json.loads(path.read_text())
    assert [row["name"] for row in found["rows"]] == ["add", "rms_norm"]
    for row in found["rows"]:
        assert (
            row["ours_s"] > 0 and row["theirs_s"] > 0 and row["limit_s"] > 0 and not row["failed"]
        )
        assert f"{row['name']}  " in text
    assert found["limits"]["threads"] == 2 and found["limits"]["tiny"]["add 8x8"] > 0
