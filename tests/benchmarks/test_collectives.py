"""benchmarks/collectives.py starts its ranks and tells what it measured."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[2] / "benchmarks" / "collectives.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(PROGRAM), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_two_ranks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFINI_CCL_TIMEOUT", "60")
    file = tmp_path / "rows.json"
    done = run("-n", "2", "--quick", "--operations", "all_reduce,broadcast", "--json", str(file))
    assert done.returncode == 0, done.stderr
    assert "| all_reduce | 8 B |" in done.stdout
    rows = json.loads(file.read_text())
    assert len(rows) == 6
    assert all(row["ranks"] == 2 and row["seconds"]["infinicore"] > 0 for row in rows)


def test_an_operation_that_is_none() -> None:
    done = run("--operations", "all_reduce,reduce")
    assert done.returncode == 2
    assert "--operations: reduce is none of all_reduce, all_gather" in done.stderr
