"""benchmarks/measure.py: a few rows, without torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import results

from .conftest import run


@pytest.fixture
def without_torch(tmp_path: Path) -> dict[str, str]:
    """An environment in which torch cannot be imported."""
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['torch'] = None\n")
    return {"PYTHONPATH": str(tmp_path)}


def test_without_torch(tmp_path: Path, without_torch: dict[str, str]) -> None:
    rows = ("--quick", "--rows", "Python call GetDevice,x + y", "--out", tmp_path, "--name", "here")
    suites = "runtime,overhead,operators"
    said = run("measure.py", "--only", suites, *rows, "--commit", "abc", **without_torch)
    assert "operators: left out, because torch is not installed" in said
    found = json.loads((tmp_path / "here.json").read_text())
    assert found["machine"] == "here" and list(found["suites"]) == ["runtime", "overhead"]
    assert results.problems(found) == []
    for suite in found["suites"].values():
        assert suite["commit"] == "abc" and suite["quick"] and len(suite["rows"]) == 1
        assert suite["rows"][0]["ours_s"] > 0


def test_some_rows_are_no_result() -> None:
    said = run("measure.py", "--rows", "add", code=2)
    assert "name another folder by --out" in said


def test_a_suite_that_is_none() -> None:
    said = run("measure.py", "--only", "runtime,speed", code=2)
    assert "speed is none of runtime, overhead, operators, collectives, wild on cpu" in said
    said = run("measure.py", "--only", "runtime", "--device", "nvidia", code=2)
    assert "runtime is none of operators, wild on nvidia" in said


@pytest.mark.requires("c++")
def test_copies_have_a_base_line(tmp_path: Path, without_torch: dict[str, str]) -> None:
    path = tmp_path / "rows.json"
    run("runtime.py", "--quick", "--rows", "Memcpy 64 KiB", "--json", path, **without_torch)
    rows = json.loads(path.read_text())["rows"]
    assert [row["against"] for row in rows] == ["memcpy", "fastest copy"]
    assert rows[1]["theirs_s"] <= min(rows[0]["ours_s"], rows[0]["theirs_s"])
