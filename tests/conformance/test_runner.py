"""Valid answers of workers, and errors of the command before anything runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from infinicore.conformance import runner

from .kit_runs import infini

CASES: list[dict[str, Any]] = [{"id": name, "seconds": 20.0} for name in ("one", "two")]


def run(monkeypatch: pytest.MonkeyPatch, program: str) -> list[tuple[str, str, str]]:
    command = [sys.executable, "-c", f"import os, sys\n{program}"]
    monkeypatch.setattr(runner, "_command", lambda: command)
    found = runner.run(CASES, dict(os.environ), 1, None, lambda _: None, lambda _: None)
    return [(result["id"], result["status"], result.get("words", "")) for result in found]


@pytest.mark.parametrize(
    "line",
    [b"no JSON", b'{"id": "one"', b"[1]", b"7", b'{"id": "three", "status": "pass"}', b"\xff\xfe"],
)
def test_a_line_that_is_no_answer(monkeypatch: pytest.MonkeyPatch, line: bytes) -> None:
    """It fails the case that was running."""
    program = f"""
if sys.stdin.readline() == "one\\n": os.write(1, {line!r} + b"\\n")
else: print('{{"id": "two", "status": "pass"}}', flush=True)
sys.stdin.readline()
"""
    first, second = run(monkeypatch, program)
    assert first[:2] == ("one", "crash")
    assert "no result of this case" in first[2]
    assert second[:2] == ("two", "pass")


def test_a_signal_without_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run(monkeypatch, "sys.stdin.readline(); os.kill(os.getpid(), 40)")
    assert [status for _, status, _ in found] == ["crash", "crash"]
    assert "died of 40" in found[0][2]


@pytest.mark.parametrize(
    "given", [("--jobs", "-1"), ("--timeout", "-3"), ("--timeout", "0"), ("--hours", "nan")]
)
def test_numbers_that_make_no_sense(given: tuple[str, str]) -> None:
    done = infini("conformance", "--only", "load", *given)
    assert done.returncode == 2
    assert f"argument {given[0]}: expected" in done.stderr


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    """It is reported before the cases run."""
    taken = tmp_path / "taken"
    taken.write_text("")
    done = infini("conformance", "--only", "load/versions", "--report", str(taken))
    assert done.returncode == 2
    assert done.stderr.startswith(f"infini conformance: --report {taken}: ")
    assert "level 0" not in done.stdout
