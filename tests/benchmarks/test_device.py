"""benchmarks/operators.py on an accelerator: its table, and all rows with few elements."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kit.place import KIND, ON_HOST

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "operators.py"


def run(*arguments: object, fails: bool = False) -> str:
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=220)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout


def row(title: str, ours: float, **more: Any) -> dict[str, Any]:
    usual = {"unit": "TB/s", "figure": "", "moved": 8e8, "flops": 0.0, "issue": True, "others": {}}
    return {"title": title, "ours_s": ours, **usual, **more}


def test_report(tmp_path: Path) -> None:
    rows = [
        row("add", 2e-4, theirs_s=4e-4, against="add"),
        row("slow", 8e-4, theirs_s=4e-4, against="slow", others={"a": 4e-4, "b": "no kernel"}),
        row("wrong", 2e-4, theirs_s=2e-4, against="x", differs=True, issue=False),
        {"title": "lost", "failed": "the device is lost"},
        row("host time of add", 2e-6, theirs_s=6e-6, unit="us", host=True, against="torch"),
    ]
    limits = {"copy": 4e12, "product": 6e14}
    figures = {"device": "chip", "commit": "abc", "torch": "2", "limits": limits, "rows": rows}
    path, page = tmp_path / "chip.json", tmp_path / "page.md"
    path.write_text(json.dumps(figures))
    page.write_text("# Figures\n\nwords\n")
    for _ in range(2):  # renewed the second time
        said = run("--from", path, "--markdown", page, fails=True)
    assert "missed >= 1x torch, missed >= 90 % of a copy" in said and "4.00 TB/s" in said
    text = page.read_text()
    assert text.startswith("# Figures\n\nwords\n") and text.count("| add | 4.00 TB/s | 2.00") == 1
    assert "| lost | FAILED: the device is lost |" in text and "a 2.00 TB/s, b n/a" in text
    assert "FAILED: the result differs" in text and "**Others**" in text and "(abc)" in text


@pytest.mark.skipif(ON_HOST, reason="the CPU has figures of its own")
def test_every_row(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    said = run("--device", KIND, "--tiny", "--all", "--json", path)
    assert "FAILED" not in said
    rows = {each["title"] for each in json.loads(path.read_text())["rows"]}
    assert len(rows) > 40 and "100-node graph replay" in rows
